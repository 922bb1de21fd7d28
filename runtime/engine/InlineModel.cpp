//===- InlineModel.cpp - a model in the caller's thread -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/InlineModel.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::engine;

static PipelineLimits limitsFor(const Engine &engine,
                                const InlineNeeds &needs) {
  int64_t rows = engine.options().prefillChunk;
  if (needs.promptRows > 0)
    rows = std::min(rows, needs.promptRows);
  PipelineLimits limits =
      pipeline::inlineLimits(needs.requests, engine.contextLength(),
                             engine.descriptor().vocabSize, rows);
  if (needs.scoresPrompts)
    limits.scoredRows = limits.prefillRows;
  return limits;
}

Expected<std::unique_ptr<pipeline::InlinePipeline>>
engine::loadInline(Engine &engine, const InlineNeeds &needs) {
  pipeline::InlineSetup setup;
  setup.limits = limitsFor(engine, needs);
  setup.keepsLogits = needs.keepsLogits;
  Expected<std::unique_ptr<device::StepExecutor>> executor =
      engine.load(pipeline::stepLimits(setup.limits), needs.activations);
  if (!executor)
    return executor.status();
  setup.compute =
      std::make_unique<pipeline::DeviceStepCompute>(executor.take());
  return pipeline::InlinePipeline::create(std::move(setup));
}
