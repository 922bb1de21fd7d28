//===- BatchMates.cpp - other sequences in every step ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/BatchMates.h"

using namespace sluice;
using namespace sluice::app;

Expected<BatchMates> BatchMates::create(LocalModel &model, int64_t count) {
  BatchMates mates(model);
  for (int64_t i = 0; i < count; ++i) {
    Expected<SequenceId> id = model.openSequence();
    if (!id)
      return id.status();
    mates.members.push_back(*id);
  }
  return mates;
}

Status BatchMates::addBefore(StepBatch &batch) {
  return addRows(batch, 0, members.size() / 2);
}

Status BatchMates::addBehind(StepBatch &batch) {
  Status status = addRows(batch, members.size() / 2, members.size());
  ++step;
  return status;
}

Status BatchMates::addRows(StepBatch &batch, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) {
    int64_t rows = 1 + (int64_t(i) + step) % maxRows;
    int64_t position = model->sequenceLength(members[i]);
    if (position + rows > model->limits().contextLength) {
      model->truncateSequence(members[i], 0);
      position = 0;
      rows = 1;
    }
    for (int64_t row = 0; row < rows; ++row, ++position) {
      uint64_t mixed =
          (uint64_t(i) + 1) * 2654435761u + uint64_t(position) * 97;
      auto token = int32_t(mixed % uint64_t(model->vocabSize()));
      bool wantsLogits = i % 2 == 1 && row + 1 == rows;
      SLUICE_RETURN_IF_ERROR(
          batch.add(members[i], position, token, wantsLogits));
    }
  }
  return {};
}
