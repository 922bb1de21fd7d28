//===- StepOutputs.h - fetches the outputs of a step ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_STEP_STEPOUTPUTS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_STEP_STEPOUTPUTS_H

#include "runtime/device/cuda/step/RowReplay.h"

#include <vector>

namespace sluice::cuda {

/// Fetches the tokens of all outputs, candidates, and logits if neither is
/// enough. An output's number changes when rows before it leave, so each output
/// is mapped to the slot in which its results arrived. Thread-compatible.
class StepOutputs {
public:
  /// All must outlive the object.
  StepOutputs(CudaModel &model, StepWatch &watch, const RowReplay &rows)
      : model(model), watch(watch), rows(rows) {}

  Status allocate();
  /// Puts copies into the stream, behind the step: the tokens of all outputs,
  /// candidates, and the logits of outputs that request them, under the numbers
  /// that the outputs have if no rows leave.
  Status fetch(const StepGraph &graph, const device::StepInput &input);
  /// Fetches the logits of requested outputs whose number changed because rows
  /// before them left, and of outputs for which the device has not found
  /// enough. Called after RowReplay::replay().
  Status fetchMissing(const StepGraph &graph, const device::StepInput &input);

  /// As the methods of device::StepExecutor.
  std::span<const float> logits(int64_t output) const;
  std::optional<int32_t> token(int64_t output) const;
  std::span<const TokenLogit> candidates(int64_t output) const;

private:
  Status fetchLogits(const StepGraph &graph, int64_t first, int64_t count);
  bool suffices(const OutputRequest &request, int32_t slot) const;
  std::span<const TokenLogit> candidatesAt(int32_t slot) const;

  CudaModel &model;
  StepWatch &watch;
  const RowReplay &rows;
  PinnedMemory logitsHere, tokensHere, candidatesHere; ///< [slot]
  std::vector<int32_t> firstOutput; ///< [row at the step's start]: its output
  std::vector<OutputRequest::Kind> kinds; ///< [output of the batch]
  std::vector<uint8_t> fetched; ///< [slot]: 1 if its logits have been fetched
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_STEP_STEPOUTPUTS_H
