//===- Clock.h - the monotonic clock of a machine -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The time that is passed to the deciding code: nanoseconds of the system's
// monotonic clock, which all processes of a machine share. The clocks of two
// machines started at different times, so their times cannot be compared.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_CLOCK_H
#define SLUICE_RUNTIME_PIPELINE_CLOCK_H

#include "runtime/core/Rows.h"

#include <chrono>

namespace sluice::pipeline {

inline Time now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

inline std::chrono::steady_clock::time_point toTimePoint(Time time) {
  return std::chrono::steady_clock::time_point(time);
}

/// Returns a number that is the same in all processes whose now() has the same
/// start: those of one machine, until it reboots.
uint64_t clockIdentity();

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_CLOCK_H
