//===- GroupExecutor.h - the members of a group in this process -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_GROUPEXECUTOR_H
#define SLUICE_RUNTIME_APP_GROUPEXECUTOR_H

#include "runtime/app/LocalModel.h"

namespace sluice::app {

/// A stage on a group whose members, in order, all are here: each step is
/// executed by all of them side by side, and its logits and rows are the first
/// one's. Each member has an equal part of the team's threads, and at least
/// one: with 3 for two members there are 2, as members wait for the slowest.
/// The executor's steps have no checkpoints. Errors of making it: a program of
/// another group, threads that the system does not give, those of
/// Executor::create().
LocalStage cpuGroup(std::vector<cpu::CpuProgram> members,
                    cpu::CacheFormat format, const CpuTeam &team);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_GROUPEXECUTOR_H
