//===- HeapMemory.cpp - what the allocator holds --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/HeapMemory.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <malloc.h>
#include <new>

using namespace sluice;

/// Large enough to be mapped by itself: so freeing it gives address space back.
static constexpr size_t pieceBytes = size_t{1} << 20;
static std::array<std::atomic<void *>, 8> reserve;

/// Called by `new` when there is no memory; returning means to try again.
static void giveUpPiece() {
  for (std::atomic<void *> &piece : reserve)
    if (void *kept = piece.exchange(nullptr))
      return std::free(kept);
  throw std::bad_alloc();
}

void sluice::keepMemoryReserve() {
  for (std::atomic<void *> &piece : reserve) {
    if (piece.load())
      continue;
    void *kept = std::malloc(pieceBytes);
    void *none = nullptr;
    if (kept && !piece.compare_exchange_strong(none, kept))
      std::free(kept); // somebody else was faster
  }
  std::set_new_handler(giveUpPiece);
}

bool sluice::trimHeap(int64_t least) {
  const struct mallinfo2 info = mallinfo2();
  return info.fordblks > static_cast<size_t>(least) && malloc_trim(0) == 1;
}
