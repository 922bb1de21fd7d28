//===- PromptTimes.cpp - what steps with prompts take ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/PromptTimes.h"

#include <algorithm>
#include <cmath>

namespace sluice {

/// Of a surprise, what goes to the positions at once where they are many.
constexpr double positionRate = 0.375;
/// How fast it is forgotten how many positions steps have had.
constexpr double usualKept = 1 - 1.0 / 256;
/// The part of a step that is taken for its rows' at least.
constexpr double minForRows = 1.0 / 16;

void PromptTimes::measure(int64_t rows, int64_t positions, Time took) {
  if (rows < 1 || took <= Time(0))
    return;
  double nanos = static_cast<double>(took.count());
  double many = static_cast<double>(positions);
  usual = std::max(usual * usualKept, many);
  // What was only predicted says nothing of the positions.
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
