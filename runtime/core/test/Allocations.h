//===- Allocations.h - counts and limits memory allocations ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_TEST_ALLOCATIONS_H
#define SLUICE_RUNTIME_CORE_TEST_ALLOCATIONS_H

#include <cstddef>
#include <cstdint>

// Sanitizers have their own operator new.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef COUNTS_ALLOCATIONS
#define COUNTS_ALLOCATIONS 1
#endif

namespace sluice::test {

/// Returns how often the program has called operator new so far.
int64_t allocations();
/// Returns how often the calling thread has.
int64_t allocationsOfThread();

/// Makes every allocation of more than `bytes` bytes fail from now on, even if
/// the machine would grant it. 0 removes the limit.
void lackMemoryAbove(size_t bytes);

} // namespace sluice::test

#endif // SLUICE_RUNTIME_CORE_TEST_ALLOCATIONS_H
