//===- Engine.cpp - a program, its weights and its tokenizer --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/Engine.h"

#include "runtime/app/Interrupt.h"
#include "runtime/base/StandardOutput.h"

using namespace sluice;
using namespace sluice::app;

namespace {

Expected<cpu::Program> programFor(const ProgramDescriptor &descriptor,
                                  cpu::StepFunction step,
                                  const std::vector<cpu::Weight> &weights) {
  std::optional<cpu::Isa> isa = cpu::parseIsa(descriptor.cpu);
  if (!isa)
    return failure("the program was built for '", descriptor.cpu,
                   "', a CPU that this runtime does not know");
  cpu::Program program;
  program.step = step;
  program.isa = *isa;
  program.rowFloats = descriptor.rowFloats;
  program.outputFloats = descriptor.outputFloats;
  program.logitsOffset = descriptor.logitsOffset;
  program.vocabSize = descriptor.vocabSize;
  program.contextLength = descriptor.contextLength;
  for (const CacheShape &cache : descriptor.caches)
    program.caches.push_back({cache.kvHeads, cache.headDim});
  for (const RopeTable &table : descriptor.ropeTables)
    program.ropeTables.push_back(
        {table.inverseFrequencies, table.attentionFactor});
  program.weights = weights;
  return program;
}

} // namespace

Expected<std::unique_ptr<Engine>> Engine::create(const ProgramImage &image,
                                                 const EngineOptions &options) {
  std::unique_ptr<Engine> engine(new Engine(image, options));
  Expected<ProgramDescriptor> parsed =
      ProgramDescriptor::parse(image.descriptor);
  if (!parsed)
    return parsed.status();
  engine->descriptor = parsed.take();
  const ProgramDescriptor &program = engine->descriptor;
  if (Status s = cpu::requireIsa(program.cpu); !s.ok())
    return s;

  int64_t &context = engine->settings.contextLength;
  if (context > program.contextLength)
    return failure("a context of ", context,
                   " tokens is more than the model's ", program.contextLength);
  if (context == 0)
    context = program.contextLength;

  if (!image.tokenizer.empty()) {
    Expected<text::Tokenizer> loaded = text::Tokenizer::load(image.tokenizer);
    if (!loaded)
      return loaded.status().withContext("tokenizer");
    engine->words = loaded.take();
  }
  return engine;
}

Status Engine::load(const EngineNeeds &needs) {
  WeightLoadOptions loading;
  loading.search = {image.executable, settings.modelDir};
  loading.packing = {settings.threads, interrupted};
  loading.note = writeNote;
  Expected<WeightStore> store = WeightStore::load(descriptor, loading);
  if (!store)
    return store.status();
  weights.emplace(store.take());

  Expected<cpu::Program> program =
      programFor(descriptor, image.step, weights->weights());
  if (!program)
    return program.status();
  cpu::ExecutorLimits limits;
  limits.rows = needs.rows;
  limits.outputs = needs.outputs;
  limits.sequences = needs.sequences;
  limits.contextLength = settings.contextLength;
  limits.threads = settings.threads;
  Expected<std::unique_ptr<cpu::Executor>> made =
      cpu::Executor::create(program.take(), limits);
  if (!made)
    return made.status();
  runner = made.take();
  return {};
}
