//===- EngineOptions.h - how a model is loaded and computed ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_ENGINEOPTIONS_H
#define SLUICE_RUNTIME_ENGINE_ENGINEOPTIONS_H

#include "runtime/core/Rows.h"
#include "runtime/device/cpu/CorePlan.h"
#include "runtime/engine/CacheStorage.h"

#include <optional>
#include <string>

namespace sluice::engine {

/// The device that computes the model.
enum class DeviceOption : uint8_t {
  Auto, // a GPU if there is one and the executable has code for it
  Cpu,
  Cuda
};

/// When weights are checked against their digests.
enum class VerifyOption : uint8_t {
  Background, // beside the steps
  Full,       // before the first step
  Off
};

/// How to load and run the model.
struct EngineOptions {
  int64_t threads = 0; // 0: the CPU's cores
  cpu::Pinning pinning = cpu::Pinning::Auto;
  int64_t contextLength = 0; // 0: the model's
  int64_t prefillChunk =
      defaultStepRows;    // rows of a step while the prompt is computed
  int64_t batchMates = 0; // other sequences in every step
  DeviceOption device = DeviceOption::Auto;
  CacheType cacheType = CacheType::Default;
  bool fastMathBatch = false; // see cuda::CudaExecutorOptions
  std::string modelDir;
  VerifyOption verify = VerifyOption::Background;
  std::optional<uint64_t> randomWeights; // seed; needs no files of the model
};

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_ENGINEOPTIONS_H
