//===- Allocations.cpp - counts allocations and makes them fail -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/test/Allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

using namespace sluice;
using sluice::test::LackOfMemory;

static std::atomic<int64_t> made{0};
static thread_local int64_t madeByThread = 0;

/// Which allocations fail, if there is a LackOfMemory. Other threads may read
/// these while they change.
static std::atomic<bool> isLacking{false}, isAboutOwner{false};
static std::atomic<size_t> above{0};
static std::atomic<int64_t> first{0}, count{0};
/// Whether this thread has made the LackOfMemory.
static thread_local bool isOwner = false;
/// How many allocations could have failed so far, and how many have.
static std::atomic<int64_t> tried{0}, haveFailed{0};

int64_t test::allocations() { return made; }
int64_t test::allocationsOfThread() { return madeByThread; }

LackOfMemory::LackOfMemory(Which which) {
  tried = haveFailed = 0;
  isAboutOwner = which.threads == Threads::This;
  above = which.above;
  first = which.first;
  count = which.count;
  isOwner = true;
  isLacking = true;
}

LackOfMemory::~LackOfMemory() {
  isLacking = false;
  isOwner = false;
}

int64_t LackOfMemory::failed() { return haveFailed; }

static bool mustFail(size_t bytes) {
  if (!isLacking || bytes <= above || isOwner != isAboutOwner)
    return false;
  int64_t before = tried.fetch_add(1);
  if (before < first || before - first >= count)
    return false;
  haveFailed.fetch_add(1);
  return true;
}

void *operator new(size_t bytes) {
  made.fetch_add(1, std::memory_order_relaxed);
  ++madeByThread;
  void *memory = mustFail(bytes) ? nullptr : std::malloc(bytes);
  if (!memory)
    throw std::bad_alloc();
  return memory;
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
