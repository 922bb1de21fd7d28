//===- StepExecutor.h - what runs steps, on whichever device --------------===//
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

/// What an executor is made for.
struct StepLimits {
  int64_t rows = 512;        ///< of a step
  int64_t outputs = 1;       ///< rows of a step that ask for logits
  int64_t sequences = 1;     ///< open at the same time
  int64_t pages = 0;         ///< of the cache
  int64_t contextLength = 0; ///< of one sequence; 0: the program's
  /// Steps cannot run out of memory: all of it is given out at the start.
  bool resident = false;
};

/// Rows in a device's memory, [row][hiddenSize] floats, which are there when
/// `stream` has come to its end.
struct DeviceRows {
  uint64_t address = 0; ///< a cuda::DeviceAddress
  cuda::StreamHandle *stream = nullptr;
};

/// Runs the steps of one program. Thread-compatible: one call at a time.
class StepExecutor {
public:
  virtual ~StepExecutor() = default;

  virtual bool hasEmbedding() const = 0;
  virtual bool hasOutput() const = 0;
  virtual int64_t vocabSize() const = 0;
  virtual int64_t hiddenSize() const = 0;
  /// Rows of a step that may ask for logits.
  virtual int64_t outputLimit() const = 0;

  /// Runs one step, to its end or until no row is left alive. Errors of
  /// checkStep(), and then nothing has been computed or copied; those of a
  /// device, which then is of no further use. Allocates nothing but an error's
  /// message.
  virtual Status execute(const StepInput &input) = 0;

  /// Logits of output `output` of the last step, as the batch numbered them at
  /// the step's end, where greedyToken() has none. Valid until the next
  /// execute(). Programs with an output only.
  virtual std::span<const float> logits(int64_t output) const = 0;

  /// The token of greatest logit of the same output, the least of several,
  /// where its logits were not wanted (StepInput::wantsLogits) and a device has
  /// found it; none where it is no finite number.
  virtual std::optional<int32_t> greedyToken(int64_t output) const {
    return std::nullopt;
  }

  /// The rows that the last step has kept (StepInput::keepsOutgoing), in the
  /// batch's order at its end. Valid until the next execute().
  virtual DeviceRows sentRows() const { return {}; }
};

} // namespace sluice::device

#endif // SLUICE_RUNTIME_DEVICE_STEPEXECUTOR_H
