//===- ThreadPriority.h - lower priorities for threads --------------------===//
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

/// Lowers the calling thread's priority for the rest of its life: if there are
/// too few cores, it gets about a tenth of the time of a normal thread. Does
/// nothing if the system forbids it.
inline void giveWayToOthers() {
  constexpr int nicer = 10;
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), nicer);
}

/// Makes the calling thread run only on idle processors for the rest of its
/// life: if there are too few, it gets less than a hundredth of one. Does
/// nothing if the system forbids it.
inline void runWhenIdle() {
  const sched_param none = {};
  (void)sched_setscheduler(gettid(), SCHED_IDLE, &none);
}

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_THREADPRIORITY_H
