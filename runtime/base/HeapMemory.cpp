//===- HeapMemory.cpp - a memory reserve, and trimming the heap -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/HeapMemory.h"

#include <array>
#include <atomic>
#include <malloc.h>
#include <new>
#include <sys/mman.h>

using namespace sluice;

/// Pieces are mapped, not allocated, so that freeing one gives back address
/// space that any thread can use.
static constexpr size_t pieceBytes = size_t{1} << 20;
static std::array<std::atomic<void *>, 8> reserve;

/// The new-handler, which `new` calls if there is no memory; it tries again on
/// return.
static void giveUpPiece() {
  for (std::atomic<void *> &piece : reserve)
    if (void *kept = piece.exchange(nullptr)) {
      ::munmap(kept, pieceBytes);
      return;
    }
  throw std::bad_alloc();
}

void sluice::keepMemoryReserve() {
  for (std::atomic<void *> &piece : reserve) {
    if (piece.load())
      continue;
    void *kept = ::mmap(nullptr, pieceBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *none = nullptr;
    if (kept != MAP_FAILED && !piece.compare_exchange_strong(none, kept))
      ::munmap(kept, pieceBytes); // another thread was faster
  }
  std::set_new_handler(giveUpPiece);
}

void sluice::boundFreeHeap() {
  // Setting either of these also keeps glibc from raising them by itself.
  constexpr int bytes = 4 << 20;
  ::mallopt(M_TRIM_THRESHOLD, bytes);
  ::mallopt(M_MMAP_THRESHOLD, bytes);
}

bool sluice::trimHeap(int64_t min) {
  const struct mallinfo2 info = mallinfo2();
  return info.fordblks > static_cast<size_t>(min) && malloc_trim(0) == 1;
}
