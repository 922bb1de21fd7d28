//===- LocalStage.h - a program from which an executor can be made --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_LOCALSTAGE_H
#define SLUICE_RUNTIME_ENGINE_LOCALSTAGE_H

#include "runtime/device/cpu/CpuExecutor.h"
#include "runtime/engine/CpuTeam.h"

#include <functional>
#include <memory>

namespace sluice::engine {

/// A program on some device, from which an executor can be made.
struct LocalStage {
  bool hasEmbedding = true;
  bool hasOutput = true;
  int64_t hiddenSize = 0;
  int64_t contextLength = 0;
  /// Plans the device's memory, if it is counted: adds what make() will use.
  /// Called for all stages of a device before make() is called for the first of
  /// them. Error: the device does not have enough memory for the stages so far.
  /// May be empty.
  std::function<Status(const device::StepLimits &)> plan;
  std::function<Expected<std::unique_ptr<device::StepExecutor>>(
      const device::StepLimits &)>
      make;
};

/// Returns a stage that runs a program on the CPU, with a cache of the given
/// format. Stages that run one after the other may share `pool`, which the
/// first stage creates; if `pool` is null, the stage has threads of its own.
/// `group` is needed for a member of a tensor-parallel group; see
/// CpuExecutor::create().
LocalStage
cpuStage(cpu::CpuProgram program, cpu::CacheFormat format, const CpuTeam &team,
         std::shared_ptr<std::shared_ptr<cpu::ThreadPool>> pool = nullptr,
         comm::Collectives *group = nullptr);

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_LOCALSTAGE_H
