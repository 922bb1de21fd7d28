//===- JobLaunch.cpp - start and failure of jobs of several ranks ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/JobLaunch.h"

#include "runtime/app/Commands.h"
#include "runtime/base/Guarded.h"
#include "runtime/base/StandardOutput.h"

#include <chrono>
#include <thread>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::engine;

/// Time for rank 0 to report an error. Launchers end all ranks as soon as one
/// of them fails, so the others wait; once rank 0 has failed, launchers end the
/// wait.
static constexpr std::chrono::seconds timeToSayIt{10};

Expected<int> app::saidOnce(const Status &reason,
                            const std::optional<comm::MpiLaunch> &launch) {
  if (!launch || launch->rank == 0)
    return reason;
  std::this_thread::sleep_for(timeToSayIt);
  return 1;
}

/// Returns whether a message begins with "rank 3: " or the like.
static bool namesRank(std::string_view message) {
  if (!message.starts_with("rank "))
    return false;
  size_t end = message.find_first_not_of("0123456789", 5);
  return end > 5 && end != message.npos && message[end] == ':';
}

Status app::ofRank(const Status &reason,
                   const std::optional<comm::MpiLaunch> &launch) {
  if (!launch || launch->size == 1 || namesRank(reason.message()))
    return reason;
  return reason.withContext("rank " + std::to_string(launch->rank));
}

/// Explains an error, then ends the job; in this order, because under MPI the
/// second may end the process. Returns the exit status.
static int breakOff(PipelineSession &session, const Status &failed,
                    const std::optional<comm::MpiLaunch> &launch) {
  Status reason = ofRank(failed, launch);
  int code = 1;
  if (session.isHead())
    code = explainFailure(reason);
  else // also for a signal that the user did not send
    writeError(reason.message());
  session.abort(failed); // abort() names this rank itself
  return code;
}

Expected<int>
app::runOnRanks(Engine &engine, const PipelineOptions &options,
                const std::optional<comm::MpiLaunch> &launch,
                const std::function<Expected<int>(PipelineSession &)> &run) {
  PipelineSession session(engine, options);
  if (Status s = session.settle(); !s.ok())
    return saidOnce(s, launch);
  Expected<int> code = guarded([&] { return run(session); });
  return code ? code : breakOff(session, code.status(), launch);
}

/// Fails if MPI has not started as many ranks as the plan has, or not where
/// they have to be.
static Status checkLaunch(const ExecutionPlan &plan,
                          const PipelineOptions &options,
                          const comm::MpiLaunch &launch) {
  auto ranks = int64_t(plan.ranks.size());
  if (launch.size != ranks)
    return failure("this program needs ", ranks, " ranks, and MPI has started ",
                   launch.size, ": use mpirun -n ", ranks,
                   ", or no mpirun to have all ranks in one process");
  // Emulated messages carry the time of their arrival in one machine's clock.
  if (!options.emulate.empty() && launch.localSize.value_or(ranks) < ranks)
    return failure("--emulate: all ranks must be on one machine, and ",
                   *launch.localSize, " of ", ranks,
                   " are on this one: without mpirun all are in one process");
  return {};
}

Status app::checkUse(const Engine &engine, const PipelineOptions &options,
                     const std::optional<comm::MpiLaunch> &launch) {
  if (launch)
    SLUICE_RETURN_IF_ERROR(
        checkLaunch(engine.descriptor().plan, options, *launch));
  return engine.checkOptions();
}

Expected<Job> app::beginJob(const ProgramImage &image,
                            const EngineOptions &options) {
  Expected<std::optional<comm::MpiLaunch>> launch = comm::detectMpiLaunch();
  if (!launch)
    return launch.status();
  Expected<std::unique_ptr<Engine>> engine = Engine::create(image, options);
  if (!engine)
    return ofRank(engine.status(), *launch);
  return Job{launch.take(), engine.take()};
}
