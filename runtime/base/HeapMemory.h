//===- HeapMemory.h - what the allocator holds ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For programs that run for long and must survive that there is no memory for a
// moment.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_HEAPMEMORY_H
#define SLUICE_RUNTIME_BASE_HEAPMEMORY_H

#include <cstdint>

namespace sluice {

/// From now on some pieces of 1 MiB are kept back, of which one is given up
/// each time that `new` finds no memory, and it is tried again. So a lack that
/// lasts for a moment harms nobody, and what allocates a little while an
/// exception passes, in order to free a lot, finds some. The pieces are only
/// reserved, not touched. Call it again now and then, to have those back that
/// were given up. Thread-safe.
void keepMemoryReserve();

/// Gives back to the system what the allocator holds and nobody uses, if that
/// is more than `min` bytes; glibc keeps whatever lies below something that
/// is in use. Returns whether it has. Takes some milliseconds for each 100 MiB,
/// in which threads that allocate may wait. Thread-safe.
bool trimHeap(int64_t min);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_HEAPMEMORY_H
