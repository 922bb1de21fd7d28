//===- HeapMemory.h - a memory reserve, and trimming the heap -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For programs that run for a long time and must survive a short lack of
// memory.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_HEAPMEMORY_H
#define SLUICE_RUNTIME_BASE_HEAPMEMORY_H

#include <cstdint>

namespace sluice {

/// Keeps a reserve of pieces of 1 MiB. When `new` finds no memory, one piece is
/// freed and the allocation is tried again. So a short lack of memory harms
/// nothing, and code that allocates a little while an exception passes, in
/// order to free a lot, succeeds. The pieces are only reserved address space,
/// never touched. Must be called again from time to time to replace freed
/// pieces. Thread-safe.
void keepMemoryReserve();

/// Bounds the memory that the allocator keeps behind the last allocation of
/// each of its arenas, of which there are several for each core, to some MiB.
/// Only a free() gives this memory back, trimHeap() does not; and once a large
/// block has been freed, glibc keeps up to 64 MiB of it in each arena. Blocks
/// of some MiB are mapped by themselves from then on. Thread-safe.
void boundFreeHeap();

/// Returns unused memory of the allocator to the system, if it is more than
/// `min` bytes; glibc keeps everything that lies below memory in use. Returns
/// whether it did. Takes some milliseconds for each 100 MiB, during which
/// allocating threads may wait. Thread-safe.
bool trimHeap(int64_t min);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_HEAPMEMORY_H
