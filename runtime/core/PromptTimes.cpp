//===- PromptTimes.cpp - the times of steps with prompt rows --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/PromptTimes.h"

#include <algorithm>
#include <cmath>

namespace sluice {

/// The part of an error that corrects perPosition at once if positions are
/// many.
constexpr double positionRate = 0.375;
/// The factor by which `usual` decays with each step.
constexpr double usualKept = 1 - 1.0 / 256;
/// The least part of a step's time that is attributed to its number of rows.
constexpr double minForRows = 1.0 / 16;

void PromptTimes::measure(int64_t rows, int64_t positions, Time took) {
  if (rows < 1 || took <= Time(0))
    return;
  double nanos = static_cast<double>(took.count());
  double many = static_cast<double>(positions);
  usual = std::max(usual * usualKept, many);
  // A time that was only predicted for the row count says nothing about
  // positions.
  if (many > 0 && byRows.isMeasured(rows)) {
    double surprise = nanos - static_cast<double>(get(rows, positions).count());
    perPosition += positionRate * surprise * many / (usual * usual);
    perPosition = std::max(0.0, perPosition);
  }
  double forRows = std::max(nanos * minForRows, nanos - perPosition * many);
  byRows.measure(rows, Time(std::llround(forRows)));
}

Time PromptTimes::get(int64_t rows, int64_t positions) const {
  double nanos = perPosition * static_cast<double>(positions);
  return byRows.get(rows) + Time(std::llround(nanos));
}

} // namespace sluice
