//===- BranchTable.h - paths through trees, in sequences ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which path through which request's tree each sequence of the cache holds. A
// path is named by its last node, the tip; the nodes before it are the tip's
// ancestors. A row is placed where its parent is:
//
//   the parent is a tip             the row continues the branch
//   all rows behind it are dead     the branch is cut back, and continued
//   otherwise                       a branch is forked behind the parent
//
// Branches are closed once the confirmed node lies on another one.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_BRANCHTABLE_H
#define SLUICE_RUNTIME_CORE_BRANCHTABLE_H

#include "runtime/core/CachePages.h"
#include "runtime/core/StageTree.h"

#include <optional>
#include <vector>

namespace sluice {

/// The branches of all requests, one for each sequence of the cache. Memory is
/// taken by the constructor; no later call allocates. Thread-compatible.
class BranchTable {
public:
  /// `pages` outlives the table, and only the table opens sequences in it.
  BranchTable(CachePages &pages, int64_t requests);

  /// Opens the request's first branch, which begins with these pages; they hold
  /// its path up to `tip`. Error: no free sequence; nothing changed.
  Expected<SequenceId> begin(RequestId request, NodeId tip,
                             std::span<const int32_t> prefix);

  struct BranchEnd {
    SequenceId sequence = 0;
    std::optional<PageCopy> copy; ///< before the row is computed
    /// Set where the branch was forked for the row: its rows from this position
    /// on that are of this very step are missing from the copy.
    std::optional<int64_t> copiedFrom;
  };

  /// Gives the row, which lives, a place at the end of a branch; its parent is
  /// known, or it is the request's first. No place (and nothing has changed)
  /// where no branch holds the parent. O(branches of the request + nodes behind
  /// the parent), mostly O(1). Error: no room in the cache; nothing changed but
  /// what was dead.
  Expected<std::optional<BranchEnd>> place(StageTree &tree, const Row &row,
                                           uint64_t step);

  /// Closes the branches whose tip neither is the confirmed node nor descends
  /// from it, where the confirmed node is known; those with rows of step `step`
  /// stay. Whether nothing was left to do. O(branches of the request).
  bool prune(StageTree &tree, uint64_t step);

  /// Cuts the branches back to before the rows that have left their step.
  /// O(branches of the request + rows that have left).
  void dropDeparted(StageTree &tree);

  /// The page with the positions from `index` * pageTokens on of the path to a
  /// node that is confirmed, or will be; none where no branch has them. O(nodes
  /// behind the node + branches of the request).
  std::optional<int32_t> pageOf(StageTree &tree, NodeId node,
                                int64_t index) const;

  /// Closes all branches of the request.
  void close(RequestId request);

  int64_t openBranches() const { return pages.openSequences(); }

private:
  static constexpr SequenceId none = -1;

  struct Branch {
    RequestId request = -1;
    NodeId tip = noNode;
    SequenceId next = none; ///< of the same request
    uint64_t step = 0;      ///< the last that computed a row of it
  };

  /// A branch that holds a node, and what is behind it there.
  struct Holder {
    SequenceId sequence = none;
    bool isTip = false;
    bool restIsDead = false;
  };

  void link(RequestId request, SequenceId sequence);
  bool inspect(StageTree &tree, SequenceId sequence, const StageNode &node,
               Holder &holder);
  Holder holderOf(StageTree &tree, const StageNode &node);
  bool leadsTo(StageTree &tree, NodeId tip, NodeId node) const;
  Expected<BranchEnd> extend(SequenceId sequence, const Row &row,
                             uint64_t step);
  Expected<BranchEnd> fork(SequenceId parent, const Row &row, uint64_t step);
  Expected<BranchEnd> openFirst(const Row &row, uint64_t step);
  void cut(SequenceId sequence, NodeId tip, int64_t length);
  template <typename Goes> void closeWhere(RequestId request, Goes goes);

  CachePages &pages;
  std::vector<Branch> branches;  ///< [sequence]
  std::vector<SequenceId> first; ///< [request]
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_BRANCHTABLE_H
