//===- HeapMemory.cpp - what the allocator holds --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/HeapMemory.h"

#include <atomic>
#include <cstdlib>
#include <malloc.h>
#include <new>

using namespace sluice;

/// Large enough to be mapped by itself: so freeing it gives address space back.
static constexpr size_t reserveBytes = size_t{8} << 20;
static std::atomic<void *> reserve{nullptr};

/// Called by `new` when there is no memory; returning means to try again.
static void giveUpReserve() {
  void *kept = reserve.exchange(nullptr);
  if (!kept)
    throw std::bad_alloc();
  std::free(kept);
}

void sluice::keepMemoryReserve() {
  if (!reserve.load()) {
    void *kept = std::malloc(reserveBytes);
    void *none = nullptr;
    if (kept && !reserve.compare_exchange_strong(none, kept))
      std::free(kept); // somebody else was faster
  }
  std::set_new_handler(giveUpReserve);
}

bool sluice::trimHeap(int64_t least) {
  const struct mallinfo2 info = mallinfo2();
  return info.fordblks > static_cast<size_t>(least) && malloc_trim(0) == 1;
}
