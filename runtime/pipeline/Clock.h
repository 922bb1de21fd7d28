//===- Clock.h - what time it is ------------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The time that the deciding code is told: nanoseconds of the system's
// monotonic clock, which all processes of a machine share. Those of two
// machines began at different times and have nothing to do with each other.
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

/// The same wherever now() has the same beginning: on one machine, until it
/// starts again.
uint64_t clockIdentity();

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_CLOCK_H
