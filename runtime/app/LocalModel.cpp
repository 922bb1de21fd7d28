//===- LocalModel.cpp - all stages of a model in this process -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/LocalModel.h"

#include "runtime/device/cpu/CorePlan.h"
#include "runtime/device/cpu/ThreadPool.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::app;

namespace {

/// More than any cache can hold; keeps products of limits from overflowing.
constexpr int64_t maxTokens = int64_t(1) << 40;

Status checkChain(const std::vector<LocalStage> &programs) {
  if (programs.empty())
    return failure("model: no program");
  for (size_t i = 0; i < programs.size(); ++i) {
    const LocalStage &program = programs[i];
    if (program.hasEmbedding != (i == 0))
      return failure("model: stage ", i,
                     i == 0 ? " has no embedding" : " has an embedding");
    bool last = i + 1 == programs.size();
    if (program.hasOutput != last)
      return failure("model: stage ", i,
                     last ? " has no output" : " has an output");
    if (program.contextLength != programs[0].contextLength)
      return failure("model: stage ", i, " has a context of ",
                     program.contextLength, ", not ",
                     programs[0].contextLength);
    if (i > 0 && program.hiddenSize != programs[i - 1].hiddenSize)
      return failure("model: stage ", i, " takes rows of ", program.hiddenSize,
                     " numbers and is given ", programs[i - 1].hiddenSize);
  }
  return {};
}

/// Replaces zeros by their defaults and checks what CachePages does not check.
Expected<LocalModelLimits> resolve(LocalModelLimits limits,
                                   int64_t contextLength) {
  if (limits.contextLength == 0)
    limits.contextLength = contextLength;
  if (limits.contextLength < 1 || limits.contextLength > contextLength)
    return failure("model: a context of ", limits.contextLength,
                   " tokens is not between 1 and ", contextLength);
  if (limits.sequences < 1 || limits.sequences > maxTokens / contextLength)
    return failure("model: ", limits.sequences,
                   " sequences is not between 1 "
                   "and ",
                   maxTokens / contextLength);
  if (limits.cacheTokens == 0)
    limits.cacheTokens = limits.sequences *
                         CachePages::pagesFor(limits.contextLength) *
                         CachePages::pageTokens;
  if (limits.threads == 0)
    limits.threads = std::min(cpu::defaultThreadCount(), cpu::maxThreads);
  if (limits.threads < 1 || limits.threads > cpu::maxThreads)
    return failure("model: ", limits.threads, " threads is not between 1 and ",
                   cpu::maxThreads);
  return limits;
}

} // namespace

LocalStage app::cpuStage(cpu::CpuProgram program, cpu::CacheFormat format,
                         const CpuTeam &team,
                         std::shared_ptr<std::shared_ptr<cpu::ThreadPool>> pool,
                         comm::Collectives *group) {
  LocalStage stage = {
      program.hasEmbedding,  program.hasOutput, program.hiddenSize,
      program.contextLength, nullptr,           nullptr};
  stage.make = [=,
                program = std::move(program)](const device::StepLimits &needs)
      -> Expected<std::unique_ptr<device::StepExecutor>> {
    cpu::CpuExecutorLimits limits;
    limits.rows = needs.rows;
    limits.outputs = needs.outputs;
    limits.pages = needs.pages;
    limits.contextLength = needs.contextLength;
    limits.resident = needs.resident;
    limits.cacheFormat = format;
    std::shared_ptr<cpu::ThreadPool> threads = pool ? *pool : nullptr;
    if (!threads)
      threads = team.makePool();
    if (pool)
      *pool = threads;
    Expected<std::unique_ptr<cpu::CpuExecutor>> made =
        cpu::CpuExecutor::create(program, limits, threads, group);
    if (!made)
      return made.status();
    return std::unique_ptr<device::StepExecutor>(made.take());
  };
  return stage;
}

Expected<std::unique_ptr<LocalModel>>
LocalModel::create(std::vector<cpu::CpuProgram> programs,
                   const LocalModelLimits &wanted) {
  auto pool = std::make_shared<std::shared_ptr<cpu::ThreadPool>>();
  CpuTeam team;
  team.threads = wanted.threads;
  std::vector<LocalStage> stages;
  for (cpu::CpuProgram &program : programs)
    stages.push_back(
        cpuStage(std::move(program), wanted.cacheFormat, team, pool));
  return create(std::move(stages), wanted);
}

Expected<std::unique_ptr<LocalModel>>
LocalModel::create(std::vector<LocalStage> stages,
                   const LocalModelLimits &wanted) {
  SLUICE_RETURN_IF_ERROR(checkChain(stages));
  Expected<LocalModelLimits> limits = resolve(wanted, stages[0].contextLength);
  if (!limits)
    return limits.status();
  Expected<CachePages> pages =
      CachePages::create({CachePages::pagesFor(limits->cacheTokens),
                          limits->sequences, limits->contextLength});
  if (!pages)
    return pages.status();
  std::unique_ptr<LocalModel> model(new LocalModel(*limits, pages.take()));
  for (const LocalStage &stage : stages)
    if (stage.plan)
      SLUICE_RETURN_IF_ERROR(stage.plan(model->stepLimits()));
  for (const LocalStage &stage : stages)
    SLUICE_RETURN_IF_ERROR(model->addStage(stage));
  model->bounds.outputs = model->stages[0]->outputLimit();
  return model;
}

device::StepLimits LocalModel::stepLimits() const {
  device::StepLimits limits;
  limits.rows = bounds.rows;
  limits.outputs = bounds.outputs;
  limits.sequences = bounds.sequences;
  limits.pages = pages.limits().pages;
  limits.contextLength = bounds.contextLength;
  limits.resident = bounds.resident;
  return limits;
}

Status LocalModel::addStage(const LocalStage &stage) {
  int64_t rowBytes = stage.hiddenSize * activationBytes(bounds.activations);
  Expected<std::unique_ptr<device::StepExecutor>> made =
      stage.make(stepLimits());
  if (!made)
    return made.status();
  if (!stage.hasOutput) {
    activations[stages.size() % 2].resize(size_t(bounds.rows * rowBytes));
    incoming.reserve(size_t(bounds.rows));
  }
  stages.push_back(made.take());
  return {};
}

/// Makes room in the cache for every row, or for none.
Status LocalModel::place(const StepBatch &batch) {
  for (int64_t row = 0; row < batch.rows(); ++row) {
    SequenceId sequence = batch.sequences()[row];
    int64_t position = batch.positions()[row];
    Status placed;
    if (!pages.isOpen(sequence))
      placed = failure("step: sequence ", sequence, " is not open");
    else if (position != pages.length(sequence))
      placed =
          failure("step: sequence ", sequence, ": position ", position,
                  " does not continue its ", pages.length(sequence), " tokens");
    else
      placed = pages.grow(sequence, position + 1);
    if (!placed.ok()) {
      unplace(batch, row);
      return placed;
    }
  }
  return {};
}

/// Removes the first `rows` rows from the cache again.
void LocalModel::unplace(const StepBatch &batch, int64_t rows) {
  while (rows-- > 0)
    pages.truncate(batch.sequences()[rows], batch.positions()[rows]);
}

Status LocalModel::executeStages(const StepBatch &batch,
                                 std::span<const OutputRequest> requests) {
  device::StepInput input;
  input.requests = requests;
  input.batch = &batch;
  input.pages = &pages;
  input.incomingFormat = input.outgoingFormat = bounds.activations;
  incoming.clear();
  for (size_t i = 0; i < stages.size(); ++i) {
    std::vector<uint8_t> &sent = activations[i % 2];
    input.incoming = incoming;
    input.outgoing = sent;
    SLUICE_RETURN_IF_ERROR(stages[i]->execute(input));
    if (i + 1 == stages.size())
      break;
    int64_t rowBytes =
        stages[i]->hiddenSize() * activationBytes(bounds.activations);
    incoming.clear();
    for (int64_t row = 0; row < batch.rows(); ++row)
      incoming.push_back(sent.data() + row * rowBytes);
  }
  return {};
}

Status LocalModel::execute(const StepBatch &batch,
                           std::span<const OutputRequest> requests) {
  SLUICE_RETURN_IF_ERROR(place(batch));
  Status executed = executeStages(batch, requests);
  if (!executed.ok())
    unplace(batch, batch.rows());
  return executed;
}
