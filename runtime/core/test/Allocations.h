//===- Allocations.h - memory taken by a program that measures it ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_TEST_ALLOCATIONS_H
#define SLUICE_RUNTIME_CORE_TEST_ALLOCATIONS_H

#include <cstddef>
#include <cstdint>

// A sanitizer has an operator new of its own.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef COUNTS_ALLOCATIONS
#define COUNTS_ALLOCATIONS 1
#endif

namespace sluice::test {

/// How often the program has called operator new so far.
int64_t allocations();
/// And the calling thread.
int64_t allocationsOfThread();

/// From now on there is no more memory than so many bytes in one piece, however
/// much the machine would promise. 0: as much as there is.
void lackMemoryAbove(size_t bytes);

} // namespace sluice::test

#endif // SLUICE_RUNTIME_CORE_TEST_ALLOCATIONS_H
