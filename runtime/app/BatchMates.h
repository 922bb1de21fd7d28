//===- BatchMates.h - batch mates in every step ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row's result must not depend on the other rows of its step. To see that it
// does not, other sequences with tokens of their own take part in each step,
// some of their rows before and some behind the rows of interest, in numbers
// that change from step to step, some asking for logits.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_BATCHMATES_H
#define SLUICE_RUNTIME_APP_BATCHMATES_H

#include "runtime/app/LocalModel.h"

#include <vector>

namespace sluice::app {

/// Thread-compatible.
class BatchMates {
public:
  /// Rows that one batch mate adds to a step at most.
  static constexpr int64_t maxRows = 3;

  /// Opens the batch mates' sequences. Refers to the model.
  static Expected<BatchMates> create(LocalModel &model, int64_t count);

  /// Add the rows that come before, and behind, the rows of interest. Once each
  /// for every step.
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
