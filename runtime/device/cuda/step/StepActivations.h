//===- StepActivations.h - rows that come to a stage and leave it ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_STEP_STEPACTIVATIONS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_STEP_STEPACTIVATIONS_H

#include "runtime/device/cuda/step/RowReplay.h"

namespace sluice::cuda {

/// Copies the rows that a step takes from the stage before it and gives to the
/// stage behind it. Thread-compatible.
class StepActivations {
public:
  /// `model` must outlive the object.
  explicit StepActivations(CudaModel &model) : model(model) {}

  Status allocate();
  /// Puts the copy of incoming rows into the stream, ahead of the step.
  Status send(const StepGraph &graph, const device::StepInput &input);
  /// Puts the copy of outgoing rows into the stream, behind the step, unless
  /// they stay on the device.
  Status fetch(const StepGraph &graph, const device::StepInput &input);
  /// Delivers the rows that have not left the step. Writes them to
  /// input.outgoing or, with input.keepsOutgoing, makes them contiguous in the
  /// device's memory.
  Status finish(const RowReplay &rows, const device::StepInput &input);
  /// The rows of the last step on the device, [row][hiddenSize]. They are
  /// contiguous only if input.keepsOutgoing asked for that.
  DeviceAddress kept() const { return sent; }

private:
  Status copyReceived(const StepGraph &graph, const device::StepInput &input);
  Status keep(const RowReplay &rows, const device::StepInput &input);
  void write(const RowReplay &rows, const device::StepInput &input) const;

  CudaModel &model;
  PinnedMemory incoming, outgoing;
  DeviceAddress sent = 0;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_STEP_STEPACTIVATIONS_H
