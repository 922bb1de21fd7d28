//===- JobLaunch.h - start and failure of jobs of several ranks -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Starts a command that may be one of several ranks, and ends it after an
// error.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_JOBLAUNCH_H
#define SLUICE_RUNTIME_APP_JOBLAUNCH_H

#include "runtime/engine/PipelineSession.h"

#include <functional>

namespace sluice::app {

/// A process and its place in a job.
struct Job {
  std::optional<comm::MpiLaunch> launch;  ///< nullopt: a single process
  std::unique_ptr<engine::Engine> engine; ///< not loaded yet

  /// Returns whether this process has rank 0.
  bool isHead() const { return !launch || launch->rank == 0; }
};

/// Fails if MPI's environment is wrong, or as Engine::create() does.
Expected<Job> beginJob(const engine::ProgramImage &image,
                       const engine::EngineOptions &options);

/// Checks the command line against the executable and the job; the result is
/// the same on all ranks. Fails if MPI has started another number of ranks than
/// the plan has, or started them in the wrong places, or as
/// Engine::checkOptions() does.
Status checkUse(const engine::Engine &engine,
                const engine::PipelineOptions &options,
                const std::optional<comm::MpiLaunch> &launch);

/// Reports an error that all ranks find by themselves: rank 0 returns it, and
/// the other ranks fail later.
Expected<int> saidOnce(const Status &reason,
                       const std::optional<comm::MpiLaunch> &launch);

/// Adds this rank to its own error if there are several ranks.
Status ofRank(const Status &reason,
              const std::optional<comm::MpiLaunch> &launch);

/// Runs a command's part on this rank with a session that is settled and not
/// yet open. Returns the exit status. An error of `run` is explained, and ends
/// the job on all ranks.
Expected<int>
runOnRanks(engine::Engine &engine, const engine::PipelineOptions &options,
           const std::optional<comm::MpiLaunch> &launch,
           const std::function<Expected<int>(engine::PipelineSession &)> &run);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_JOBLAUNCH_H
