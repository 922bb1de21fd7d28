//===- GroupExecutor.h - a tensor-parallel group in this process ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_GROUPEXECUTOR_H
#define SLUICE_RUNTIME_ENGINE_GROUPEXECUTOR_H

#include "runtime/engine/LocalStage.h"

namespace sluice::engine {

/// Returns a stage on a tensor-parallel group whose members, in order, are all
/// in this process. All members execute each step side by side; its logits and
/// rows are the first member's. Each member gets an equal number of the team's
/// threads, at least one: of 3 threads, two members use 2, because members wait
/// for the slowest. The executor's steps have no checkpoints. Making it fails
/// if a program is of another group, if the system gives no threads, or as
/// Executor::create() does.
LocalStage cpuGroup(std::vector<cpu::CpuProgram> members,
                    cpu::CacheFormat format, const CpuTeam &team);

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_GROUPEXECUTOR_H
