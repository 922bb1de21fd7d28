//===- Engine.cpp - a model, its weights and its tokenizer ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/Engine.h"

#include "runtime/app/Interrupt.h"
#include "runtime/base/StandardOutput.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::app;

namespace {

Expected<cpu::Program> programFor(const ProgramDescriptor &descriptor,
                                  std::span<const SluiceProgramEntry> table,
                                  const std::vector<cpu::Weight> &weights) {
  std::optional<cpu::Isa> isa = cpu::parseIsa(descriptor.cpu);
  if (!isa)
    return failure("the program was built for '", descriptor.cpu,
                   "', a CPU that this runtime does not know");
  auto entry = std::find_if(table.begin(), table.end(),
                            [&](const SluiceProgramEntry &each) {
                              return each.name == descriptor.name;
                            });
  if (entry == table.end())
    return failure("the executable has no code of program '", descriptor.name,
                   "'");
  cpu::Program program;
  program.step = entry->step;
  program.isa = *isa;
  program.hasEmbedding = descriptor.hasEmbedding;
  program.hasOutput = descriptor.hasOutput;
  program.hiddenSize = descriptor.hiddenSize;
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
  Expected<ExecutableDescriptor> parsed =
      ExecutableDescriptor::parse(image.descriptor);
  if (!parsed)
    return parsed.status();
  engine->described = parsed.take();
  const ExecutableDescriptor &executable = engine->described;
  for (const ProgramDescriptor &program : executable.programs)
    if (Status s = cpu::requireIsa(program.cpu); !s.ok())
      return s;

  if (engine->settings.contextLength == 0)
    engine->settings.contextLength = executable.contextLength;

  if (!image.tokenizer.empty()) {
    Expected<text::Tokenizer> loaded = text::Tokenizer::load(image.tokenizer);
    if (!loaded)
      return loaded.status().withContext("tokenizer");
    engine->words = loaded.take();
  }
  return engine;
}

Status Engine::checkOptions() const {
  if (settings.contextLength <= described.contextLength)
    return {};
  return failure("a context of ", settings.contextLength,
                 " tokens is more than the model's ", described.contextLength);
}

Expected<LoadedProgram> Engine::loadProgram(std::string_view name) const {
  std::optional<int64_t> index = described.findProgram(name);
  if (!index)
    return failure("there is no program '", name, "'");
  WeightLoadOptions loading;
  loading.search = {image.executable, settings.modelDir};
  loading.packing = {settings.threads, interrupted};
  loading.note = writeNote;
  Expected<WeightStore> store = WeightStore::load(described, *index, loading);
  if (!store)
    return store.status();
  Expected<cpu::Program> program = programFor(
      described.programs[size_t(*index)], image.programs, store->weights());
  if (!program)
    return program.status();
  return LoadedProgram{store.take(), program.take()};
}

Status Engine::load(const EngineNeeds &needs) {
  std::vector<cpu::Program> programs;
  for (const PlanStage &stage : described.plan.stages) {
    Expected<LoadedProgram> loaded = loadProgram(stage.program);
    if (!loaded)
      return loaded.status();
    weights.push_back(std::move(loaded->weights));
    programs.push_back(std::move(loaded->program));
  }
  LocalModelLimits limits;
  limits.rows = needs.rows;
  limits.outputs = needs.outputs;
  limits.sequences = needs.sequences;
  limits.contextLength = settings.contextLength;
  limits.threads = settings.threads;
  limits.cacheFormat = settings.cacheFormat;
  limits.activations = needs.activations;
  Expected<std::unique_ptr<LocalModel>> made =
      LocalModel::create(std::move(programs), limits);
  if (!made)
    return made.status();
  local = made.take();
  return {};
}
