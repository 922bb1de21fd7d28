//===- Clock.h - what time it is ------------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The time that the deciding code is told: nanoseconds of the system's
// monotonic clock, which all processes of a machine share.
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

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_CLOCK_H
