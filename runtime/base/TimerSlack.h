//===- TimerSlack.h - waits that end in time ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_TIMERSLACK_H
#define SLUICE_RUNTIME_BASE_TIMERSLACK_H

#include <sys/prctl.h>

namespace sluice {

/// From now on the calling thread's timed waits end within a microsecond or so
/// of the time asked for, as far as there is a free core. By default Linux lets
/// each end up to 50 us late, to wake several at once.
inline void waitPrecisely() {
  constexpr unsigned long slackNanos = 1000;
  prctl(PR_SET_TIMERSLACK, slackNanos, 0, 0, 0);
}

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_TIMERSLACK_H
