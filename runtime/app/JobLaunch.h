//===- JobLaunch.h - what commands of several ranks have in common --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a command that may be one of several ranks begins, and how it breaks off.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_JOBLAUNCH_H
#define SLUICE_RUNTIME_APP_JOBLAUNCH_H

#include "runtime/app/PipelineSession.h"

#include <functional>

namespace sluice::app {

/// A process and its part in a job.
struct Job {
  std::optional<comm::MpiLaunch> launch; ///< none: a process by itself
  std::unique_ptr<Engine> engine;        ///< not loaded yet

  /// Whether this process has rank 0.
  bool isHead() const { return !launch || launch->rank == 0; }
};

/// Errors: those of MPI's environment and of Engine::create().
Expected<Job> beginJob(const ProgramImage &image, const EngineOptions &options);

/// What the command line asks of this executable and this job, the same on all
/// ranks. Errors: MPI has started another number of ranks than the plan has, or
/// not where they have to be; those of Engine::checkOptions().
Status checkUse(const Engine &engine, const PipelineOptions &options,
                const std::optional<comm::MpiLaunch> &launch);

/// Of an error that all ranks come to by themselves: rank 0 says it, and the
/// others fail later.
Expected<int> saidOnce(const Status &reason,
                       const std::optional<comm::MpiLaunch> &launch);

/// An error of this rank's own, where there are several.
Status ofRank(const Status &reason,
              const std::optional<comm::MpiLaunch> &launch);

/// Runs a command's part on this rank with a session that is settled and not
/// open yet; its result is the exit status. An error of `run` is explained, and
/// ends the job on all ranks.
Expected<int>
runOnRanks(Engine &engine, const PipelineOptions &options,
           const std::optional<comm::MpiLaunch> &launch,
           const std::function<Expected<int>(PipelineSession &)> &run);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_JOBLAUNCH_H
