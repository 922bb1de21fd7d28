//===- PromptTimes.h - what steps with prompts take -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What steps with rows of prompts take. A row of a prompt attends to all the
// rows before it, so that the same number of rows takes several times as long
// at the end of a long prompt as at its beginning. Two terms:
//
//   step = rows(number of rows) + perPosition * (positions of all the rows)
//
// fitted together as steps are measured. Each measurement's surprise goes to
// the second term by how much the positions weigh in it, compared with the
// steps before, and what is left to the first.
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

  /// A step of `rows` rows, whose positions add up to `positions`, took this
  /// long.
  void measure(int64_t rows, int64_t positions, Time took);
  /// Of such a step, with `rows` >= 1.
  Time get(int64_t rows, int64_t positions) const;

private:
  StepTimes byRows;
  double perPosition = 0; ///< nanoseconds
  double usual = 0;       ///< the most positions of a step, of late
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_PROMPTTIMES_H
