//===- BriefWait.h - waiting for what is about to come --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_BRIEFWAIT_H
#define SLUICE_RUNTIME_BASE_BRIEFWAIT_H

#include <chrono>
#include <immintrin.h>
#include <sched.h>

namespace sluice {

/// Waiting: first in the processor, for some ten microseconds (a pause is some
/// 40 to 140 cycles), then by giving the processor away again and again, which
/// costs next to nothing where nobody else wants it and helps where this team's
/// own threads do, and only then, where the caller wants it, asleep. The second
/// part is about as long as what happens between two steps, as waking up takes
/// long. Where others want the processor, it is over after longestYield: each
/// turn then takes milliseconds, and who has slept gets the next one sooner
/// than who has used up its own for looking.
constexpr int waitPauses = 200;
constexpr int waitYields = 400;
constexpr std::chrono::microseconds longestYield{500};

/// Waits for ready() for a bounded time, about; whether it came true.
template <typename Ready> bool waitBriefly(Ready ready) {
  for (int i = 0; i < waitPauses; ++i) {
    if (ready())
      return true;
    _mm_pause();
  }
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < waitYields; ++i) {
    if (ready())
      return true;
    ::sched_yield();
    if (std::chrono::steady_clock::now() - start > longestYield)
      break;
  }
  return ready();
}

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_BRIEFWAIT_H
