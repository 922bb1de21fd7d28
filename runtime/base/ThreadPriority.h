//===- ThreadPriority.h - threads that others do not wait for -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_THREADPRIORITY_H
#define SLUICE_RUNTIME_BASE_THREADPRIORITY_H

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

namespace sluice {

/// The calling thread gives way to others: it gets about a tenth of the time
/// that one of them gets where there are not enough cores for both. It holds
/// for the rest of its life. Where the system does not allow it nothing
/// changes.
inline void giveWayToOthers() {
  constexpr int nicer = 10;
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), nicer);
}

/// The calling thread runs while a processor has nothing else to do: where
/// there are not enough for all, it gets less than a hundredth of one. It holds
/// for the rest of its life. Where the system does not allow it nothing
/// changes.
inline void runWhenIdle() {
  const sched_param none = {};
  (void)sched_setscheduler(gettid(), SCHED_IDLE, &none);
}

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_THREADPRIORITY_H
