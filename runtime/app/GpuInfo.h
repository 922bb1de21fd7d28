//===- GpuInfo.h - what an executable says of GPUs ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_GPUINFO_H
#define SLUICE_RUNTIME_APP_GPUINFO_H

#include "runtime/app/Engine.h"
#include "runtime/text/JsonWriter.h"

namespace sluice::app {

/// Of an executable that has code for GPUs.
struct GpuInfo {
  std::vector<std::string> chips; ///< as chipsOf(); empty: of no chip alone
  std::string device;             ///< of this machine; empty: none
  std::string why;                ///< there is none; one line
  std::string_view cacheType;
  /// Of all programs together; where there is no GPU without graphs, code and
  /// what attention keeps of a step, which depend on the chip. Never of what
  /// the driver and NCCL take for themselves.
  cuda::MemoryNeed need;
  /// Of rows at each end of a way between stages, where NCCL brings them; 0:
  /// one stage.
  int64_t ringBytes = 0;
};

/// Nothing where there is no code for a GPU. `limits`: of a step and its cache.
/// Errors: a program that does not fit together.
Expected<std::optional<GpuInfo>>
gatherGpuInfo(const ProgramImage &image, const ExecutableDescriptor &executable,
              const EngineOptions &options, const device::StepLimits &limits);

/// The member "gpu".
void writeGpuInfo(text::JsonWriter &json, const GpuInfo &info);
/// What follows the label.
std::string describeGpu(const GpuInfo &info);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_GPUINFO_H
