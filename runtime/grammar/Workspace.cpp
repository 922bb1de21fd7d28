//===- Workspace.cpp - the working memory of matching ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/Workspace.h"

#include <mutex>
#include <utility>

using namespace sluice::grammar;

/// The workspaces that no call uses, the last used one first. There are never
/// more than have been in use at once, and they live as long as the process.
static std::mutex idleMutex;
static Workspace *idle = nullptr; ///< guarded by idleMutex

BorrowedWorkspace::BorrowedWorkspace() {
  {
    std::lock_guard lock(idleMutex);
    space = idle;
    if (space)
      idle = std::exchange(space->nextIdle, nullptr);
  }
  if (!space)
    space = new Workspace;
}

BorrowedWorkspace::~BorrowedWorkspace() {
  space->returning.clear(); // so that masks which a cache drops are freed
  std::lock_guard lock(idleMutex);
  space->nextIdle = std::exchange(idle, space);
}
