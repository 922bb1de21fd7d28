//===- LackOfMemory.cpp - makes allocations of tests fail -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/test/LackOfMemory.h"

#include <atomic>
#include <cstdlib>
#include <new>

using sluice::test::LackOfMemory;

/// Whether there is a LackOfMemory, and whether it is about its own thread.
static std::atomic<bool> isThere{false}, isAboutOwner{false};
/// Whether this thread has made the LackOfMemory.
static thread_local bool isOwner = false;
static std::atomic<int64_t> allocations{0}, firstToFail{0}, toFail{0},
    haveFailed{0};

LackOfMemory::LackOfMemory(int64_t first, int64_t count, Threads threads) {
  allocations = haveFailed = 0;
  firstToFail = first;
  toFail = count;
  isAboutOwner = threads == Threads::This;
  isOwner = true;
  isThere = true;
}

LackOfMemory::~LackOfMemory() {
  isThere = false;
  isOwner = false;
}

int64_t LackOfMemory::failed() { return haveFailed; }

static bool mustFail() {
  if (!isThere || isOwner != isAboutOwner ||
      allocations.fetch_add(1) < firstToFail)
    return false;
  if (haveFailed.fetch_add(1) < toFail)
    return true;
  haveFailed.fetch_sub(1);
  return false;
}

void *operator new(size_t bytes) {
  void *memory = mustFail() ? nullptr : std::malloc(bytes);
  if (!memory)
    throw std::bad_alloc();
  return memory;
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
