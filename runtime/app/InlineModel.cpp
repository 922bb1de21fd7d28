//===- InlineModel.cpp - a model in the caller's thread -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/InlineModel.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::app;

static PipelineLimits limitsFor(const Engine &engine,
                                const InlineNeeds &needs) {
  PipelineLimits limits;
  limits.speculation.mode = SpeculationMode::Off;
  limits.speculation.nodes = 1; // the fewest that there can be
  limits.requests = needs.requests;
  limits.contextLength = engine.contextLength();
  limits.vocabSize = engine.descriptor().vocabSize;
  limits.prefillRows =
      std::min(engine.options().prefillChunk, engine.contextLength());
  if (needs.promptRows > 0)
    limits.prefillRows = std::min(limits.prefillRows, needs.promptRows);
  if (needs.scoresPrompts)
    limits.scoredRows = limits.prefillRows;
  // Nothing is in flight between two turns, so no frame waits for room.
  limits.channelFrames += 2 * needs.requests;
  return limits;
}

Expected<std::unique_ptr<pipeline::InlinePipeline>>
app::loadInline(Engine &engine, const InlineNeeds &needs) {
  pipeline::InlineSetup setup = {.limits = limitsFor(engine, needs),
                                 .compute = nullptr,
                                 .keepsLogitsOf = needs.keepsLogitsOf};
  const StageLimits stage = setup.limits.stage();
  device::StepLimits limits;
  limits.rows = stage.rows;
  limits.outputs = stage.outputs;
  limits.sequences = stage.branches;
  limits.pages = setup.limits.cachePages();
  Expected<std::unique_ptr<device::StepExecutor>> executor =
      engine.load(limits, needs.activations);
  if (!executor)
    return executor.status();
  setup.compute =
      std::make_unique<pipeline::DeviceStepCompute>(executor.take());
  return pipeline::InlinePipeline::create(std::move(setup));
}
