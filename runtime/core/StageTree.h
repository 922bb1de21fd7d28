//===- StageTree.h - a stage's view of one request's tree -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Holds the nodes of a request's tree that a stage has computed or is
// computing, and decides which of them live. Nodes are in a ring, indexed by
// number, so new nodes replace old ones that are no longer needed.
//
// Which rows live. A row of an ended request is dead. Otherwise a certain row
// lives. A speculative row lives while it is the confirmed node or descends
// from it. That is found by walking up its parents. If the walk reaches the
// confirmed node, or a certain node after it (every certain node descends from
// the confirmed one), the row lives. If it passes the confirmed node or reaches
// an unknown node, the row is dead. The result is kept until the next mark, so
// each node is visited once for a mark.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_STAGETREE_H
#define SLUICE_RUNTIME_CORE_STAGETREE_H

#include "runtime/base/Status.h"
#include "runtime/core/EpochBoard.h"
#include "runtime/core/Rows.h"
#include "runtime/core/StepBatch.h"

#include <optional>
#include <span>
#include <vector>

namespace sluice {

/// A row that is, or was, in the stage's cache.
struct StageNode {
  static constexpr NodeId empty = -2;

  NodeId node = empty;
  NodeId parent = noNode;
  int32_t position = 0;
  int32_t token = 0;
  /// The sequence that the node was computed for; others can contain it as
  /// well.
  SequenceId sequence = 0;
  /// Its index among the rows of step `step`, while that step is in progress.
  int32_t row = 0;
  uint64_t step = 0;
  bool certain = false;
  /// Whether it left its step at a checkpoint: then the cache does not have it.
  bool hasLeft = false;
  /// Whether it was in the cache before its step already.
  bool again = false;
  /// Whether findDead() has told a device that the node is dead, and the time
  /// of the cancel by which it died, if by any.
  bool named = false;
  std::optional<Time> cancel;

private:
  friend class StageTree;
  bool lives = false; ///< as of mark `judged`
  uint64_t judged = 0;
  bool isOrphan = false; ///< as of step `orphanJudged`
  uint64_t orphanJudged = 0;
};

/// The nodes of one slot's request. The constructor allocates all memory; later
/// calls allocate only the contents of an OpenRequest. Thread-compatible.
class StageTree {
public:
  /// Makes room for `nodes` speculative rows in flight at a time and for `rows`
  /// certain rows in a step. Keeps the tokens of up to `contextLength`
  /// positions for path(); 0 to keep none.
  StageTree(RequestId request, int64_t nodes, int64_t rows,
            int64_t contextLength);

  /// `sequence` holds the request's prefix, if there is one.
  void open(const OpenRequest &opened, SequenceId sequence = 0);
  void close() { isOpened = false; }
  bool isOpen() const { return isOpened; }
  RequestId request() const { return slot; }
  /// Returns how the slot's present request was opened.
  const OpenRequest &opened() const { return description; }

  /// Stores the board's state and returns whether it is news.
  bool observe(EpochBoard::State now);
  NodeId confirmed() const { return state.confirmed; }
  bool hasEnded() const { return state.ended; }
  /// Returns the newest confirmed node that was observed before the request
  /// ended.
  NodeId lastConfirmed() const { return confirmedLast; }

  /// Counts the observed states.
  uint64_t mark() const { return marks; }
  /// For the owner: the mark() for which it has closed branches.
  uint64_t settled = 0;
  /// The newest mark that came with rows of the request, for the next stage.
  std::optional<EpochMark> inBand;
  void note(const EpochMark &mark);

  /// Returns the node, or null if it is not known or has left.
  StageNode *find(NodeId node) {
    StageNode &found = ring[static_cast<uint64_t>(node) & mask];
    return found.node == node && node >= firstNode && !found.hasLeft ? &found
                                                                     : nullptr;
  }

  /// Returns whether the row lives. The row need not be known, but its
  /// ancestors up to the confirmed node must be.
  bool lives(NodeId node, NodeId parent, bool certain);
  bool lives(const StageNode &node) {
    return lives(node.node, node.parent, node.certain);
  }

  /// Returns whether a row that lived before the last observed news would live
  /// under the board's state `then`. Walks to the confirmed node.
  bool livedBy(const EpochBoard::State &then, const Row &row);

  /// Fails if the row's place in the ring belongs to a row that still matters;
  /// rows of step `step` do.
  Status checkRoom(NodeId node, uint64_t step);
  /// Stores the row as a known node, or replaces it.
  StageNode &insert(const Row &row, SequenceId sequence, uint64_t step,
                    int32_t index);
  /// Notes that the token of a guess is known now.
  void makeCertain(StageNode &node);
  /// Marks a known node as having left its step.
  static void leave(StageNode &node) { node.hasLeft = true; }
  /// Returns the node even if it has left its step; null if it is unknown.
  StageNode *findAny(NodeId node);
  /// Returns whether an ancestor of the node has left step `step`, to which the
  /// node belongs. Must be called once no row leaves any more. Each node is
  /// visited once a step.
  bool isOrphan(const StageNode &node, uint64_t step);

  /// Returns the tokens from the request's first up to and including the
  /// node's. Its ancestors must be known, or have been passed to path() or
  /// keepPath() before. O(1 + difference from the last path). Valid until the
  /// next call.
  std::span<const int32_t> path(const StageNode &node);
  /// Keeps the tokens of the path to the node for path(), if tokens are kept.
  void keepPath(const StageNode &node);

private:
  void seed(const std::vector<int32_t> &prefix, SequenceId sequence);
  bool livesBelow(NodeId parent);
  bool matters(const StageNode &node, uint64_t step);

  RequestId slot;
  bool isOpened = false;
  OpenRequest description;
  NodeId firstNode = 0;
  NodeId lastCertain = noNode;
  EpochBoard::State state, before; ///< as observed last, and before that
  NodeId confirmedLast = noNode;
  uint64_t marks = 1;

  int64_t limit;
  std::vector<StageNode> ring; ///< [node & mask]
  uint64_t mask;

  std::vector<int32_t> tokens; ///< [position] of the last path
  std::vector<NodeId> nodes;   ///< [position]
  int64_t pathLength = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_STAGETREE_H
