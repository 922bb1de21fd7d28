//===- BriefWait.h - waiting for events that come soon --------------------===//
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

/// Waits in three phases. First it spins in the processor, for about ten
/// microseconds (a pause takes about 40 to 140 cycles). Then it yields the
/// processor again and again, which costs little if no other thread wants it,
/// and helps if the team's own threads do. That phase is about as long as what
/// happens between two steps, because waking a thread takes long. Last, if the
/// caller wants it, it sleeps. If other processes want the processor, each
/// yield takes milliseconds, so yielding ends after longestYield: the scheduler
/// favours a thread that has slept over one that has used up its time.
constexpr int waitPauses = 200;
constexpr int waitYields = 400;
constexpr std::chrono::microseconds longestYield{500};

/// Waits for ready() for a short, limited time. Returns whether it became true.
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
