//===- BranchTable.h - which sequence holds which path of guesses ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Says which path through which request's tree of guesses each sequence of the
// cache holds. Such a path is a branch. It is named by its last node, the tip;
// the nodes before the tip are the tip's ancestors. A row is placed by its
// parent:
//
//   the parent is a tip                 the row continues the branch
//   all rows after the parent are dead  the branch is cut back and continued
//   otherwise                           a branch is forked after the parent
//
// A branch closes once the confirmed node lies on another branch.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_BRANCHTABLE_H
#define SLUICE_RUNTIME_CORE_BRANCHTABLE_H

#include "runtime/core/CachePages.h"
#include "runtime/core/StageTree.h"

#include <optional>
#include <vector>

namespace sluice {

/// Holds the branches of all requests, one for each sequence of the cache. The
/// constructor allocates all memory; no later call allocates.
/// Thread-compatible.
class BranchTable {
public:
  /// `pages` must outlive the table, and only the table may open sequences in
  /// it.
  BranchTable(CachePages &pages, int64_t requests);

  /// Opens the request's first branch. It begins with the pages `prefix`, which
  /// hold its path up to `tip`. Fails if no sequence is free; then nothing has
  /// changed.
  Expected<SequenceId> begin(RequestId request, NodeId tip,
                             std::span<const int32_t> prefix);

  struct BranchEnd {
    SequenceId sequence = 0;
    std::optional<PageCopy> copy; ///< to make before the row is computed
    /// Set if the branch was forked for the row: the copy lacks the branch's
    /// rows of this very step from this position on.
    std::optional<int64_t> copiedFrom;
  };

  /// Places a living row at the end of a branch. The row's parent is known, or
  /// the row is the first of its request. Returns nothing, and changes nothing,
  /// if no branch holds the parent. O(branches of the request + nodes after the
  /// parent), mostly O(1). Fails if the cache has no room; then only dead rows
  /// have been cut off.
  Expected<std::optional<BranchEnd>> place(StageTree &tree, const Row &row,
                                           uint64_t step);

  /// Closes the branches whose tip neither is the confirmed node nor descends
  /// from it, except branches with rows of step `step`. Does nothing while the
  /// confirmed node is not known. Returns whether nothing is left to close.
  /// O(branches of the request).
  bool prune(StageTree &tree, uint64_t step);

  /// Cuts the rows that have left their step off the ends of the branches.
  /// O(branches of the request + rows that have left).
  void dropDeparted(StageTree &tree);

  /// Returns the page with the positions from `index` * pageTokens on of the
  /// path to `node`, which is confirmed or will be; nothing if no branch holds
  /// all of them. O(nodes after `node` + branches of the request).
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
    SequenceId next = none; ///< branch of the same request
    uint64_t step = 0;      ///< the last step that computed a row of the branch
  };

  /// A branch that holds a node, and the state of the rows after that node.
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
