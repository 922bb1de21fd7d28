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

/// How the threads of a step waited for each other.
struct StepWaits {
  int64_t barriers = 0; ///< that each of them passed, the step's end included
  int64_t layers = 0;   ///< with attention
  Time mean{0};         ///< of the threads, what each waited in all barriers
  Time longest{0};      ///< of the thread that waited longest
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
  /// the step's end, where there is neither a token() nor candidates(). Valid
  /// until the next execute(). Programs with an output only.
  virtual std::span<const float> logits(int64_t output) const = 0;

  /// The token of the same output, where the greatest or a drawn one was wanted
  /// (StepInput::requests) and a device has found it; none where the greatest
  /// logit is no finite number.
  virtual std::optional<int32_t> token(int64_t output) const {
    return std::nullopt;
  }

  /// Its candidates in the same way, in any order; else empty. Valid until the
  /// next execute().
  virtual std::span<const TokenLogit> candidates(int64_t output) const {
    return {};
  }

  /// The rows that the last step has kept (StepInput::keepsOutgoing), in the
  /// batch's order at its end. Valid until the next execute().
  virtual DeviceRows sentRows() const { return {}; }

  /// Of the last step, where StepInput::timesWaits was set and threads compute.
  virtual std::optional<StepWaits> waits() const { return std::nullopt; }
};

} // namespace sluice::device

#endif // SLUICE_RUNTIME_DEVICE_STEPEXECUTOR_H
