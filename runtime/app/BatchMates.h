//===- BatchMates.h - other sequences in every step -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adds rows of other sequences to each step, to show that a row's result does
// not depend on the other rows. Their sequences have tokens of their own; some
// of their rows come before and some after the rows of interest, their number
// changes from step to step, and some have outputs.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_BATCHMATES_H
#define SLUICE_RUNTIME_APP_BATCHMATES_H

#include "runtime/app/LocalModel.h"

#include <vector>

namespace sluice::app {

/// Not thread-safe.
class BatchMates {
public:
  /// The largest number of rows that one batch mate adds to a step.
  static constexpr int64_t maxRows = 3;

  /// Opens the batch mates' sequences. `model` must outlive the result.
  static Expected<BatchMates> create(LocalModel &model, int64_t count);

  /// Add the rows before, and after, the rows of interest. Each must be called
  /// once for every step.
  Status addBefore(StepBatch &batch);
  Status addBehind(StepBatch &batch);

private:
  explicit BatchMates(LocalModel &model) : model(&model) {}
  Status addRows(StepBatch &batch, size_t first, size_t last);

  LocalModel *model;
  std::vector<SequenceId> members;
  int64_t step = 0;
};

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_BATCHMATES_H
