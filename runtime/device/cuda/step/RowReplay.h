//===- RowReplay.h - follows which rows have left a step ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_STEP_ROWREPLAY_H
#define SLUICE_RUNTIME_DEVICE_CUDA_STEP_ROWREPLAY_H

#include "runtime/device/cuda/step/StepWatch.h"

#include <vector>

namespace sluice::cuda {

/// Removes from the batch, after a step, the rows that left on the device, and
/// knows where the device has the rows and outputs that stayed.
/// Thread-compatible.
class RowReplay {
public:
  /// Both must outlive the object.
  RowReplay(CudaModel &model, StepWatch &watch) : model(model), watch(watch) {}

  Status allocate();
  /// Puts the copy of the checkpoints at which rows have left into the stream,
  /// behind the step.
  Status fetch(const StepGraph &graph, int64_t rows);
  /// Reports the step's checkpoints to the batch, one by one. Called when the
  /// stream has reached the end of the copy.
  void replay(const StepGraph &graph, const device::StepInput &input);

  /// The row at the step's start that row `row` of the batch was.
  int32_t originOf(int64_t row) const { return origins[size_t(row)]; }
  /// The row on the device that has row `row` of the batch.
  int32_t deviceRowOf(int64_t row) const { return deviceRows[size_t(row)]; }
  /// The number on the device of output `output` of the batch.
  int32_t slotOf(int64_t output) const { return slots[size_t(output)]; }
  int64_t outputs() const { return std::ssize(slots); }

private:
  void noteOutputs(const StepBatch &batch);
  bool leaveAt(int32_t checkpoint, const device::StepInput &input);
  void dropOrphans(const device::StepInput &input);

  CudaModel &model;
  StepWatch &watch;
  PinnedMemory departed; ///< [row at the step's start]: its checkpoint, or 0
  std::vector<int32_t> origins;
  std::vector<uint8_t> stays; ///< [row of the batch]: 0 if it leaves here
  std::vector<int32_t> deviceRows;
  std::vector<int32_t> slotOfOrigin; ///< [row at the step's start]
  std::vector<int32_t> slots;        ///< [output of the batch]
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_STEP_ROWREPLAY_H
