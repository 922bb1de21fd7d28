//===- PromptTimes.h - the times of steps with prompt rows ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts how long steps with prompt rows take. A row of a prompt attends to
// all rows before it, so the same number of rows takes several times as long at
// the end of a long prompt as at its beginning. The prediction has two terms:
//
//   step = rows(number of rows) + perPosition * (positions of all the rows)
//
// Both are fitted as steps are measured. A measurement's error goes to the
// second term in proportion to the weight of its positions compared with recent
// steps, and the rest goes to the first term.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_PROMPTTIMES_H
#define SLUICE_RUNTIME_CORE_PROMPTTIMES_H

#include "runtime/core/Speculation.h"

namespace sluice {

/// Thread-compatible.
class PromptTimes {
public:
  explicit PromptTimes(const StepTimes &predicted) : byRows(predicted) {}

  /// Learns that a step of `rows` rows, whose positions add up to `positions`,
  /// took `took`.
  void measure(int64_t rows, int64_t positions, Time took);
  /// Returns the predicted time of such a step; `rows` is at least 1.
  Time get(int64_t rows, int64_t positions) const;

private:
  StepTimes byRows;
  double perPosition = 0; ///< nanoseconds
  double usual = 0;       ///< the most positions in a recent step
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_PROMPTTIMES_H
