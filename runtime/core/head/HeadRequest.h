//===- HeadRequest.h - a request in the head's table ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_HEAD_HEADREQUEST_H
#define SLUICE_RUNTIME_CORE_HEAD_HEADREQUEST_H

#include "runtime/core/GuessTree.h"
#include "runtime/core/HeadCommands.h"

namespace sluice {

/// How many guesses of a request can wait for a slot; the least likely are
/// dropped.
constexpr int64_t maxWaitingGuesses = 256;

/// A confirmed token and the node of its row.
struct PathEntry {
  NodeId node = 0;
  int32_t token = 0;
};

/// A slot in the head's table, and the request in it. The fields that each
/// token needs lie close together, from the limits at the end of `spec` on,
/// because a step visits all requests and these do not fit the nearest cache.
struct HeadRequest {
  HeadRequest(RequestId id, int64_t treeCapacity)
      : id(id), tree(treeCapacity) {}

  SpeculationCounters counters;
  /// The last confirmed node of the slot's last request.
  NodeId lastPathEnd = noNode;
  RequestSpec spec;

  bool active = false;
  bool launchDue = false; ///< the root waits to be launched as a certain row
  bool cancelDue = false; ///< rows in flight have died
  /// The last certain row left with nothing else in flight.
  bool travelsAlone = false;
  bool guessSent = false; ///< since the last confirmed row
  bool probeDue = false;
  bool treeFull = false; ///< the node limit was reached
  bool openAtStages = false;
  bool openAtDraft = false;
  /// The draft must close this or the slot's last request.
  bool closeOwed = false;
  RequestId id; ///< the slot's number
  int32_t epoch = 0;
  NodeId firstNode = 0;
  std::vector<PathEntry> path; ///< [position]: prompt and confirmed tokens
  NodeId nextNode = 0;         ///< continues from request to request
  int64_t emitted = 0;         ///< tokens given to the user
  NodeId lastCertain = noNode; ///< the certain row that left last
  Time launchedAt{0};          ///< when that row left

  // State at the first stage. Known rows are the rows of `path` at admission:
  // the prompt, and what the request had generated before.
  int64_t knownRows = 0;
  int64_t knownSent = 0;   ///< of these, rows that have left or were shared
  int64_t awaitedRows = 0; ///< of these, rows that another request waits for
  /// The last frame with the request's mark, counted from 1.
  uint64_t markedIn = 0;
  GuessTree tree; ///< its root is the path's last row

  int64_t drafted = 0; ///< path entries that the draft has computed
  int64_t burst = 0;   ///< guesses sent since none was in flight

  // Sync mode.
  int64_t levels = 0;      ///< levels of the tree that the draft has answered
  int64_t outstanding = 0; ///< results of the batch under way

  /// Puts a new request into the slot. `tokens` are its known tokens, which may
  /// lie in `spec`; the first `sharedRows` of them need not be computed. The
  /// path has room for `maxLength` tokens.
  void begin(RequestSpec &&spec, std::span<const int32_t> tokens,
             int64_t sharedRows, int64_t maxLength);

  /// Returns how many known rows are to be sent until a request can go on:
  /// another request that waits for some of them, or this one.
  int64_t rowsToSend() const {
    return (awaitedRows > knownSent ? awaitedRows : knownRows) - knownSent;
  }
  /// Returns whether all known rows have left.
  bool promptSent() const { return knownSent == knownRows; }
  /// Returns whether the prompt's result is outstanding, or prompt rows have to
  /// leave.
  bool inPrompt() const {
    return static_cast<int64_t>(path.size()) == knownRows;
  }
  /// Returns whether the user has everything that the request asked for.
  bool isDone() const {
    return emitted == spec.maxTokens && spec.unscored() == 0;
  }
  /// Returns whether the root was launched and its result is outstanding.
  bool rootInFlight() const { return !tree.empty() && tree.root().launched; }

  /// Returns whether the row has a number or can get one; `span` is the
  /// numberSpan() of the pipeline. number() gives it one.
  bool canNumber(const GuessNode &node, int64_t span) const {
    return node.node != noNode || nextNode - tree.root().node < span;
  }
  void number(GuessNode &node) {
    if (node.node == noNode)
      node.node = nextNode++;
  }

  /// Returns the mark that says what is confirmed.
  EpochMark mark() const {
    return {.request = id,
            .epoch = epoch,
            .confirmed = tree.root().node,
            .ended = false};
  }
  /// Returns the row of a node of the tree; it wants an output.
  Row row(const GuessNode &node, bool certain) const;
  /// Returns what a stage or the draft must know before the first row, without
  /// a shared prefix.
  OpenRequest opening() const;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_HEAD_HEADREQUEST_H
