//===- RunPipeline.cpp - a head over the interpreter ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunPipeline.h"

#include "sluice/Interpreter/InterpreterExecutor.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::run;

using interpreter::Interpreter;

/// Returns what executes the interpreter's steps within the limits.
static std::unique_ptr<pipeline::StepCompute>
executorOf(Interpreter &interpreter, const PipelineLimits &limits) {
  return std::make_unique<pipeline::DeviceStepCompute>(
      std::make_unique<interpreter::InterpreterExecutor>(
          interpreter, pipeline::stepLimits(limits)));
}

/// Has the module's draft guess a short chain for each request.
static void addDraft(pipeline::InlineSetup &setup, RunSession &session) {
  SpeculationOptions &speculation = setup.limits.speculation;
  speculation.mode = SpeculationMode::Sync;
  speculation.depth = syncDepth;
  speculation.width = syncWidth;
  speculation.nodes = syncDepth * setup.limits.requests;
  Interpreter &draft = *session.draft();
  setup.draft = {.compute = executorOf(draft, setup.limits.draft()),
                 .contextLength = draft.info().contextLength,
                 .vocabSize =
                     std::min(session.vocabSize(), draft.info().vocabSize)};
}

Expected<std::unique_ptr<pipeline::InlinePipeline>>
sluice::run::makePipeline(RunSession &session, const RunOptions &options,
                          int64_t requests) {
  // A tree of guesses has room for those of all requests, so memory grows with
  // the square of their number.
  constexpr int64_t maxGuessed = 16;
  if (session.draft())
    requests = std::min(requests, maxGuessed);
  pipeline::InlineSetup setup;
  setup.limits = pipeline::inlineLimits(
      session.interpreter().isFused() ? requests : 1, session.contextLength(),
      session.vocabSize(), options.prefillChunk);
  if (options.score)
    setup.limits.scoredRows = setup.limits.prefillRows;
  else if (session.draft())
    addDraft(setup, session);
  setup.keepsLogits = options.logits;
  setup.compute = executorOf(session.interpreter(), setup.limits);
  return pipeline::InlinePipeline::create(std::move(setup));
}
