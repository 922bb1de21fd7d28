//===- TimerSlack.h - precise timed waits ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_TIMERSLACK_H
#define SLUICE_RUNTIME_BASE_TIMERSLACK_H

#include <sys/prctl.h>

namespace sluice {

/// Makes the calling thread's timed waits end within about a microsecond of the
/// requested time, if a core is free. By default, Linux ends them up to 50 us
/// late, in order to wake several threads at once.
inline void waitPrecisely() {
  constexpr unsigned long slackNanos = 1000;
  prctl(PR_SET_TIMERSLACK, slackNanos, 0, 0, 0);
}

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_TIMERSLACK_H
