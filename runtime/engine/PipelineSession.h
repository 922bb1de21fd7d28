//===- PipelineSession.h - the running ranks of a plan --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the ranks of an executable's plan: all of them in this process, or the
// one that MPI has started this process as.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_PIPELINESESSION_H
#define SLUICE_RUNTIME_ENGINE_PIPELINESESSION_H

#include "runtime/engine/RankAgreement.h"
#include "runtime/engine/RankLoader.h"
#include "runtime/pipeline/JobTrace.h"
#include "runtime/pipeline/ReportJson.h"

#include <thread>

namespace sluice::engine {

/// Not thread-safe.
class PipelineSession {
public:
  /// Returns whether tokens come from a pipeline: there are several ranks or a
  /// draft, or an option needs a pipeline.
  static bool isWanted(const ExecutableDescriptor &executable,
                       const PipelineOptions &options,
                       const std::optional<comm::MpiLaunch> &launch);

  PipelineSession(Engine &engine, const PipelineOptions &options);
  /// Ends a job that still runs. Under MPI this may end the process, so
  /// messages must be written before.
  ~PipelineSession();

  /// Applies the options to the plan. Must be called first, and once. Fails if
  /// the options do not fit the plan, the described cluster or each other; the
  /// error is the same on all ranks, so one of them can report it for all.
  Status settle() { return config.settle(); }

  /// Connects the ranks and agrees with them on the device and the caches. Must
  /// be called once; waits for the other ranks. Fails if MPI fails, the job's
  /// size is not the plan's, the requested device is missing, or a rank differs
  /// from the head. After an error, only abort() may be called.
  Status agree(const std::optional<comm::MpiLaunch> &launch,
               const PipelineNeeds &needs);

  /// Loads and starts the ranks of this process. Must be called once, after
  /// agree(). Fails if loading does. After an error, only abort() may be
  /// called.
  Status open();

  /// Returns whether this process has rank 0. Other processes only call
  /// serve().
  bool isHead() const { return links.here() == pipeline::headRank; }

  /// Serves as a rank other than 0 until the head ends the job. Fails if the
  /// job breaks or this process gets a signal. With `drains`, a signal has no
  /// effect here, because the head gets it as well and decides when the job
  /// ends.
  Status serve(bool drains = false);

  /// Returns the head, which takes requests. Only after open(), on rank 0.
  pipeline::HeadLoop &head() { return ranks.front()->head(); }

  /// Ends all ranks, gathers their reports, and writes the trace if requested.
  /// Only on rank 0. Waits for steps that are being computed.
  Expected<pipeline::PipelineOutcome> shutDown();

  /// Ends all ranks at once, with status 1. Under MPI this may end the process,
  /// so messages must be written before.
  void abort(const Status &reason);

private:
  Status settleDevice();
  Status settlePages();
  RankTerms terms();
  Status openTrace();
  Status shareProcessors();

  Engine &engine;
  PipelineConfig config;
  PipelineNeeds needs;
  SessionLinks links;
  cpu::CoreShare cores; ///< of the processors that this process may use
  std::optional<trace::TraceWriter> trace;
  std::vector<std::unique_ptr<pipeline::RankRuntime>> ranks;
  std::vector<std::thread> servers; ///< of the other ranks in this process
};

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_PIPELINESESSION_H
