//===- InterpreterExecutor.cpp - the interpreter as an executor -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Interpreter/InterpreterExecutor.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::interpreter;

InterpreterExecutor::InterpreterExecutor(Interpreter &interpreter,
                                         const device::StepLimits &limits)
    : interpreter(interpreter) {
  bounds.vocabSize = interpreter.info().vocabSize;
  bounds.limits = limits;
}

/// Returns for each of the `rows` rows before a checkpoint whether it is one of
/// the `left` rows behind it, which `moves` have brought to the front.
static std::vector<uint8_t> stayed(std::span<const RowMove> moves, int64_t rows,
                                   int64_t left) {
  std::vector<uint8_t> stays(static_cast<size_t>(rows), 0);
  std::fill_n(stays.begin(), left, 1);
  for (RowMove move : moves) {
    stays[static_cast<size_t>(move.to)] = 0;
    stays[static_cast<size_t>(move.from)] = 1;
  }
  return stays;
}

Status InterpreterExecutor::execute(const device::StepInput &input) {
  SLUICE_RETURN_IF_ERROR(device::checkStep(input, bounds));
  for (PageCopy copy : input.copies)
    interpreter.copyPage(copy);
  // Checkpoints change the caller's batch.
  const StepBatch batch = *input.batch;
  interpreter.setAlive({});
  if (input.checkpoints)
    interpreter.setAlive([&](const StepBatch &before) {
      std::span<const RowMove> moves = input.checkpoints->checkpoint();
      return stayed(moves, before.rows(), input.batch->rows());
    });
  Expected<RowData> logits = interpreter.step(batch, *input.pages);
  interpreter.setAlive({});
  if (!logits)
    return logits.status();
  results = logits.take();
  return {};
}
