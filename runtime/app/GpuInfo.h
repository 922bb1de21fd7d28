//===- GpuInfo.h - the GPU part of the command `info` ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_GPUINFO_H
#define SLUICE_RUNTIME_APP_GPUINFO_H

#include "runtime/engine/Engine.h"
#include "runtime/text/JsonWriter.h"

namespace sluice::app {

/// The facts about an executable with code for GPUs.
struct GpuInfo {
  /// The result of chipsOf(); empty if the code is for no particular chip.
  std::vector<std::string> chips;
  std::string device; ///< the GPU of this machine; empty if none
  std::string why;    ///< one line: why there is no GPU
  std::string_view cacheType;
  /// The memory of all programs together. Without a GPU it lacks graphs, code
  /// and attention's workspace, which depend on the chip. It never includes the
  /// memory of the driver and NCCL.
  cuda::MemoryNeed need;
  /// The ring at each end of a way between stages that use NCCL; 0 for a single
  /// stage.
  int64_t ringBytes = 0;
};

/// Returns the facts; nullopt if there is no code for a GPU. `limits` are those
/// of a step and its cache. Fails if a program is inconsistent.
Expected<std::optional<GpuInfo>> gatherGpuInfo(
    const engine::ProgramImage &image, const ExecutableDescriptor &executable,
    const engine::EngineOptions &options, const device::StepLimits &limits);

/// Writes the member "gpu".
void writeGpuInfo(text::JsonWriter &json, const GpuInfo &info);
/// Returns the text after the label.
std::string describeGpu(const GpuInfo &info);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_GPUINFO_H
