//===- LocalStage.cpp - a program from which an executor can be made ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/LocalStage.h"

#include "runtime/device/cpu/ThreadPool.h"

using namespace sluice;
using namespace sluice::engine;

LocalStage
engine::cpuStage(cpu::CpuProgram program, cpu::CacheFormat format,
                 const CpuTeam &team,
                 std::shared_ptr<std::shared_ptr<cpu::ThreadPool>> pool,
                 comm::Collectives *group) {
  LocalStage stage = {
      program.hasEmbedding,  program.hasOutput, program.hiddenSize,
      program.contextLength, nullptr,           nullptr};
  stage.make = [=,
                program = std::move(program)](const device::StepLimits &needs)
      -> Expected<std::unique_ptr<device::StepExecutor>> {
    cpu::CpuExecutorOptions options(needs);
    options.cacheFormat = format;
    std::shared_ptr<cpu::ThreadPool> threads = pool ? *pool : nullptr;
    if (!threads)
      threads = team.makePool();
    if (pool)
      *pool = threads;
    Expected<std::unique_ptr<cpu::CpuExecutor>> made =
        cpu::CpuExecutor::create(program, options, threads, group);
    if (!made)
      return made.status();
    return std::unique_ptr<device::StepExecutor>(made.take());
  };
  return stage;
}
