//===- BenchCommand.cpp - the command `bench` -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/Commands.h"
#include "runtime/app/HeadBackend.h"
#include "runtime/app/JobLaunch.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/StandardOutput.h"
#include "runtime/bench/Bench.h"

using namespace sluice;
using namespace sluice::app;
using namespace sluice::engine;

namespace {

/// Runs the load and writes its report. Returns the exit status.
Expected<int> measure(const bench::BenchOptions &options,
                      bench::Backend &backend) {
  bench::BenchHooks hooks;
  hooks.shouldStop = interrupted;
  hooks.progress = writeNote;
  Expected<bench::BenchResult> result =
      bench::runBench(options, backend, hooks);
  if (!result)
    return result.status();
  SLUICE_RETURN_IF_ERROR(writeOutput(result->report));
  return interrupted() ? interruptedExitCode() : 0;
}

/// Runs the benchmark until the job has ended properly; after an error, it has
/// not.
Expected<int> measurePipeline(PipelineSession &session, Engine &engine,
                              const BenchCommandOptions &options,
                              const std::optional<comm::MpiLaunch> &launch) {
  PipelineNeeds needs;
  needs.serving = options.serving;
  SLUICE_RETURN_IF_ERROR(session.agree(launch, needs));
  SLUICE_RETURN_IF_ERROR(session.open());
  if (!session.isHead()) {
    Status served = session.serve();
    return served.ok() ? Expected<int>(0) : served;
  }
  Expected<int> code = [&] {
    HeadBackend backend(session.head(), options.bench,
                        engine.descriptor().vocabSize);
    return measure(options.bench, backend);
  }();
  if (!code)
    return code;
  Expected<pipeline::PipelineOutcome> outcome = session.shutDown();
  return outcome ? code : outcome.status();
}

} // namespace

Expected<int> app::runBench(const ProgramImage &image,
                            const BenchCommandOptions &options) {
  Expected<Job> job = beginJob(image, options.engine);
  if (!job)
    return job.status();
  auto &[launch, engine] = *job;
  if (Status s = checkUse(*engine, options.pipeline, launch); !s.ok())
    return saidOnce(s, launch);
  return runOnRanks(*engine, options.pipeline, launch,
                    [&](PipelineSession &session) {
                      return measurePipeline(session, *engine, options, launch);
                    });
}
