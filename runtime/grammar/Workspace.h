//===- Workspace.h - the working memory of matching -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory in which texts are matched with a grammar and masks are made. It
// is lent and taken back, so that later calls find its capacity. It does not
// belong to threads, because the C library ends the process if a thread lacks
// the memory to note that it has something to destroy. Internal to
// runtime/grammar.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_WORKSPACE_H
#define SLUICE_RUNTIME_GRAMMAR_WORKSPACE_H

#include "runtime/grammar/TokenGrammar.h"
#include "runtime/grammar/TrieWalk.h"

namespace sluice::grammar {

/// A mask whose rule returns to a stack entry.
struct ReturningMask {
  std::shared_ptr<const StateMask> mask;
  uint32_t stackEntry;
};

struct Workspace {
  TrieWalk walk;
  const StackTable noEntries;
  std::vector<ReturningMask> returning; ///< empty when it is borrowed
  std::vector<uint32_t> toHold;         ///< entries that the matcher has made
  std::vector<uint32_t> heldAs;         ///< [entry that the matcher has made]
  std::vector<StackTable::Edge> edges;
  Workspace *nextIdle = nullptr;
};

/// Borrows a workspace as long as it lives. The other containers still have
/// contents of earlier uses. Borrowing is thread-safe, and throws
/// std::bad_alloc if all workspaces are in use and there is no memory for
/// another.
class BorrowedWorkspace {
public:
  BorrowedWorkspace();
  ~BorrowedWorkspace();
  BorrowedWorkspace(const BorrowedWorkspace &) = delete;
  BorrowedWorkspace &operator=(const BorrowedWorkspace &) = delete;

  Workspace &operator*() const { return *space; }
  Workspace *operator->() const { return space; }

private:
  Workspace *space;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_WORKSPACE_H
