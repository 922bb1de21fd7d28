//===- StageTree.h - what a stage knows of one request's tree -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a stage knows of one request's tree: the nodes that it has computed or
// is computing, and which of them live. Nodes are kept in a ring by their
// number, so that old ones, which nobody asks for any more, make room for new
// ones.
//
// Which rows live. A row of a request that has ended is dead. A certain row
// lives otherwise. A speculative one lives while it is the confirmed node or
// descends from it, which is found by going up its parents: to the confirmed
// node, or to a certain one behind it (whatever is certain descends from what
// is confirmed), and it lives; past the confirmed node, or to one that is not
// known, and it is dead. What was found is kept until the next mark, so that
// each node is passed once a mark.
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
  /// The sequence that it was computed for; others can contain it as well.
  SequenceId sequence = 0;
  /// Its index among the rows of step `step`, while that is the present one.
  int32_t row = 0;
  uint64_t step = 0;
  bool certain = false;
  /// Left its step at a checkpoint: nothing of it is in the cache.
  bool hasLeft = false;
  /// Was in the cache before its step as well.
  bool again = false;
  /// A device has been told that it is dead, of this cancel, if of any.
  bool named = false;
  std::optional<Time> cancel;

private:
  friend class StageTree;
  bool lives = false; ///< as of mark `judged`
  uint64_t judged = 0;
  bool isOrphan = false; ///< as of step `orphanJudged`
  uint64_t orphanJudged = 0;
};

/// One slot for requests. Memory is taken by the constructor; no later call
/// allocates, but for what OpenRequest holds. Thread-compatible.
class StageTree {
public:
  /// Room for `nodes` speculative rows in flight at a time, and for `rows`
  /// certain ones in a step; tokens of up to `contextLength` positions are kept
  /// for path(), 0: none are.
  StageTree(RequestId request, int64_t nodes, int64_t rows,
            int64_t contextLength);

  /// `sequence` is where the prefix lies, if there is one.
  void open(const OpenRequest &opened, SequenceId sequence = 0);
  void close() { isOpened = false; }
  bool isOpen() const { return isOpened; }
  RequestId request() const { return slot; }
  /// How the slot's present request was opened.
  const OpenRequest &opened() const { return description; }

  /// Takes note of what the board says. Whether it is news.
  bool observe(EpochBoard::State now);
  NodeId confirmed() const { return state.confirmed; }
  bool hasEnded() const { return state.ended; }
  /// The newest node that was confirmed before the end, as far as was observed.
  NodeId lastConfirmed() const { return confirmedLast; }

  /// Counts the states that were observed.
  uint64_t mark() const { return marks; }
  /// The mark for which the owner has tidied up; it is the owner's.
  uint64_t settled = 0;
  /// The newest mark that came with the rows; for those who come after.
  std::optional<EpochMark> inBand;
  void note(const EpochMark &mark);

  /// The node, or null where it is not known (any more).
  StageNode *find(NodeId node) {
    StageNode &found = ring[static_cast<uint64_t>(node) & mask];
    return found.node == node && node >= firstNode && !found.hasLeft ? &found
                                                                     : nullptr;
  }

  /// Whether the row lives; it need not be known, but its ancestors down from
  /// the confirmed node are.
  bool lives(NodeId node, NodeId parent, bool certain);
  bool lives(const StageNode &node) {
    return lives(node.node, node.parent, node.certain);
  }

  /// Whether the row, which lived until the last news was observed, lived by
  /// what the board said then. Walks to the confirmed node.
  bool livedBy(const EpochBoard::State &then, const Row &row);

  /// Whether a row can be known besides those that still matter, of which
  /// those of step `step` are some. Error: one of them has its place.
  Status checkRoom(NodeId node, uint64_t step);
  /// Makes the row known, again if it was.
  StageNode &insert(const Row &row, SequenceId sequence, uint64_t step,
                    int32_t index);
  /// What was guessed is known now.
  void makeCertain(StageNode &node);
  /// Marks a known node as having left its step.
  static void leave(StageNode &node) { node.hasLeft = true; }
  /// A node that is known or has left.
  StageNode *findAny(NodeId node);
  /// Whether an ancestor of the node, which is of step `step`, has left that
  /// step; asked once nobody leaves any more. Each node is passed once a step.
  bool isOrphan(const StageNode &node, uint64_t step);

  /// The tokens from the request's first up to and including the node's; its
  /// ancestors are known or were asked for, or shown to keepPath(), before. O(1
  /// + what differs from the last path). Valid until the next call.
  std::span<const int32_t> path(const StageNode &node);
  /// As path(), where tokens are kept.
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
