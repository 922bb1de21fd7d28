//===- Allocations.cpp - counts and limits memory allocations -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/test/Allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<int64_t> count{0};

static thread_local int64_t countOfThread = 0;

static std::atomic<size_t> max{0};

int64_t sluice::test::allocations() { return count.load(); }
int64_t sluice::test::allocationsOfThread() { return countOfThread; }

void sluice::test::lackMemoryAbove(size_t bytes) { max = bytes; }

#if COUNTS_ALLOCATIONS
void *operator new(size_t bytes) {
  count.fetch_add(1, std::memory_order_relaxed);
  ++countOfThread;
  if (size_t limit = max.load(std::memory_order_relaxed);
      limit > 0 && bytes > limit)
    throw std::bad_alloc();
  if (void *memory = std::malloc(bytes))
    return memory;
  std::abort();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
#endif
