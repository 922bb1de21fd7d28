//===- StepExecutor.h - the interface of every device's executor ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_STEPEXECUTOR_H
#define SLUICE_RUNTIME_DEVICE_STEPEXECUTOR_H

#include "runtime/device/StepInput.h"

#include <optional>

namespace sluice::cuda {
struct StreamHandle; // device/cuda/driver/Driver.h
} // namespace sluice::cuda

namespace sluice::device {

/// Rows in a device's memory, as [row][hiddenSize] floats. They are complete
/// when the work in `stream` has ended.
struct DeviceRows {
  uint64_t address = 0; ///< a cuda::DeviceAddress
  cuda::StreamHandle *stream = nullptr;
};

/// How the threads of a step waited for each other.
struct StepWaits {
  int64_t barriers = 0; ///< that each thread passed, including the step's end
  int64_t layers = 0;   ///< layers with attention
  Time mean{0};         ///< time in all barriers, averaged over the threads
  Time longest{0};      ///< the same of the thread that waited longest
};

/// Runs the steps of one program. Thread-compatible: one call at a time.
class StepExecutor {
public:
  virtual ~StepExecutor() = default;

  virtual bool hasEmbedding() const = 0;
  virtual bool hasOutput() const = 0;
  virtual int64_t vocabSize() const = 0;
  virtual int64_t hiddenSize() const = 0;
  /// The number of rows of a step that may ask for logits.
  virtual int64_t outputLimit() const = 0;

  /// Runs one step until it ends or no row is left alive. Errors: those of
  /// checkStep(), after which nothing has been computed or copied; those of a
  /// device, which cannot be used any more after that. Allocates nothing but an
  /// error's message.
  virtual Status execute(const StepInput &input) = 0;

  /// Returns the logits of output `output` of the last step, if it has neither
  /// a token() nor candidates(). Outputs are numbered as the batch numbers them
  /// at the step's end. The logits are valid until the next execute(). Only for
  /// programs with an output.
  virtual std::span<const float> logits(int64_t output) const = 0;

  /// Returns the token of an output if the step asked for the greatest or a
  /// drawn one (StepInput::requests) and the device has determined it. Returns
  /// none if the greatest logit is not a finite number.
  virtual std::optional<int32_t> token(int64_t output) const {
    return std::nullopt;
  }

  /// Returns the candidates of an output, in any order, if the step asked for
  /// them and the device has determined them; otherwise nothing. They are valid
  /// until the next execute().
  virtual std::span<const TokenLogit> candidates(int64_t output) const {
    return {};
  }

  /// Returns the rows that the last step left in the device's memory
  /// (StepInput::keepsOutgoing), in the batch's order at the step's end. They
  /// are valid until the next execute().
  virtual DeviceRows sentRows() const { return {}; }

  /// Returns how the threads waited in the last step, if StepInput::timesWaits
  /// was set and the executor computes with threads.
  virtual std::optional<StepWaits> waits() const { return std::nullopt; }
};

} // namespace sluice::device

#endif // SLUICE_RUNTIME_DEVICE_STEPEXECUTOR_H
