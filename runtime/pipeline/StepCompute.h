//===- StepCompute.h - computes the layers of a stage ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The computing half of a stage: layers on a device, or nothing if only the
// bookkeeping is wanted.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_STEPCOMPUTE_H
#define SLUICE_RUNTIME_PIPELINE_STEPCOMPUTE_H

#include "runtime/core/PipelineLimits.h"
#include "runtime/device/StepExecutor.h"

#include <memory>
#include <span>
#include <vector>

namespace sluice::pipeline {

/// Returns what the executor of a stage must have room for.
inline device::StepLimits stepLimits(const PipelineLimits &limits) {
  const StageLimits stage = limits.stage();
  device::StepLimits result;
  result.rows = stage.rows;
  result.outputs = stage.outputs;
  result.sequences = stage.branches;
  result.pages = limits.cachePages();
  result.contextLength = limits.contextLength;
  return result;
}

/// Computes the steps of one program. Used by one thread.
class StepCompute {
public:
  virtual ~StepCompute() = default;
  /// Returns whether the program takes rows as input; otherwise it embeds
  /// tokens.
  virtual bool receives() const = 0;
  virtual Status execute(const device::StepInput &input) = 0;
  /// Returns the logits of output `output` of the last step, if it has neither
  /// a token() nor candidates(). Valid until the next step.
  virtual std::span<const float> logits(int64_t output) const = 0;
  /// The following are as in StepExecutor.
  virtual std::optional<int32_t> token(int64_t output) const {
    return std::nullopt;
  }
  virtual std::span<const TokenLogit> candidates(int64_t output) const {
    return {};
  }
  virtual device::DeviceRows sentRows() const { return {}; }
  virtual std::optional<device::StepWaits> waits() const {
    return std::nullopt;
  }
};

/// Runs a compiled program on a device.
class DeviceStepCompute final : public StepCompute {
public:
  explicit DeviceStepCompute(std::unique_ptr<device::StepExecutor> executor)
      : executor(std::move(executor)) {}
  bool receives() const override { return !executor->hasEmbedding(); }
  Status execute(const device::StepInput &input) override {
    return executor->execute(input);
  }
  std::span<const float> logits(int64_t output) const override {
    return executor->logits(output);
  }
  std::optional<int32_t> token(int64_t output) const override {
    return executor->token(output);
  }
  std::span<const TokenLogit> candidates(int64_t output) const override {
    return executor->candidates(output);
  }
  device::DeviceRows sentRows() const override { return executor->sentRows(); }
  std::optional<device::StepWaits> waits() const override {
    return executor->waits();
  }

private:
  std::unique_ptr<device::StepExecutor> executor;
};

/// Computes nothing, for an oracle, which knows the answers.
class NoCompute final : public StepCompute {
public:
  bool receives() const override { return false; }
  Status execute(const device::StepInput &) override { return {}; }
  std::span<const float> logits(int64_t) const override { return {}; }
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_STEPCOMPUTE_H
