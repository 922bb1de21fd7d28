//===- CudaExecutor.cpp - runs the steps of a compiled program on a GPU ---===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All copies are in the stream before and after the graph, and are only as
// large as the step needs. The graph itself has only kernels.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudaExecutor.h"

#include "runtime/device/cuda/step/StepActivations.h"
#include "runtime/device/cuda/step/StepOutputs.h"

#include <algorithm>
#include <chrono>
#include <mutex>

namespace sluice::cuda {

/// The parts of an executor. The parts that own memory of the host come behind
/// the model, which waits for the device before they are destroyed.
struct CudaExecutor::State {
  State(std::shared_ptr<Device> device, CudaProgram program)
      : model(std::move(device), std::move(program)) {}
  ~State() { model.settle(); }

  Status load(const CudaExecutorOptions &limits, const LoadOptions &loading);
  device::StepBounds bounds() const;
  Status fillTables(const device::StepInput &input);
  Status run(const device::StepInput &input);
  Expected<double> timeLastStep(int32_t runs);

  CudaModel model;
  StepWatch watch{model};
  RowReplay rows{model, watch};
  StepActivations activations{model};
  StepOutputs outputs{model, watch, rows};
  PinnedMemory tableMemory; ///< the tables that are sent before a step
  std::optional<StepTables> tables;
  NodeSequence::Observer observer;  ///< called for each node; may be empty
  NodeSequence *lastStep = nullptr; ///< points into a bucket
  /// The error that has broken the device; ok() if there is none.
  Status broken;

private:
  Status copyPages(std::span<const PageCopy> copies);
  Status sendTables(StepTables::Part part);
  Status fetchResults(const StepGraph &graph, const device::StepInput &input);
};

//===----------------------------------------------------------------------===//
// Making an executor
//===----------------------------------------------------------------------===//

Status CudaExecutor::State::load(const CudaExecutorOptions &limits,
                                 const LoadOptions &loading) {
  SLUICE_RETURN_IF_ERROR(model.begin(limits));
  SLUICE_RETURN_IF_ERROR(watch.allocate());
  SLUICE_RETURN_IF_ERROR(rows.allocate());
  SLUICE_RETURN_IF_ERROR(activations.allocate());
  SLUICE_RETURN_IF_ERROR(outputs.allocate());
  const auto words = uint64_t(TableLayout(limits, limits.rows).words);
  SLUICE_RETURN_IF_ERROR(
      tableMemory.assign(*model.device, words * sizeof(int32_t)));
  tables.emplace(limits, tableMemory.as<int32_t>());
  SLUICE_RETURN_IF_ERROR(model.makeGraphs());
  return model.upload(loading);
}

Expected<MemoryNeed>
CudaExecutor::memoryNeed(std::shared_ptr<Device> device, CudaProgram program,
                         const CudaExecutorOptions &wanted) {
  Expected<CudaExecutorOptions> limits = resolveOptions(program, wanted);
  if (!limits)
    return limits.status();
  CudaModel model(std::move(device), std::move(program));
  SLUICE_RETURN_IF_ERROR(model.plan(*limits));
  return MemoryNeed(model.context.plan);
}

Expected<std::unique_ptr<CudaExecutor>>
CudaExecutor::create(std::shared_ptr<Device> device, CudaProgram program,
                     const CudaExecutorOptions &wanted,
                     const LoadOptions &loading) {
  Expected<CudaExecutorOptions> limits = resolveOptions(program, wanted);
  if (!limits)
    return limits.status();
  auto state = std::make_unique<State>(std::move(device), std::move(program));
  state->model.context.group = loading.group;
  const int64_t here = loading.group ? loading.group->members() : 1;
  if (state->model.program.members != here)
    return failure("executor: the program is for a group of ",
                   state->model.program.members, ", and here are ", here);
  // From here on, the executor's destructor keeps the memory that a device that
  // was given up still writes to.
  std::unique_ptr<CudaExecutor> executor(new CudaExecutor(std::move(state)));
  SLUICE_RETURN_IF_ERROR(executor->state->load(*limits, loading));
  return executor;
}

CudaExecutor::CudaExecutor(std::unique_ptr<State> state)
    : state(std::move(state)) {}

CudaExecutor::~CudaExecutor() {
  state->watch.awaitIdle();
  if (!state->model.device->isGivenUp())
    return;
  static std::mutex mutex;
  static auto *kept = new std::vector<std::unique_ptr<State>>;
  std::lock_guard lock(mutex);
  kept->push_back(std::move(state));
}

const CudaExecutorOptions &CudaExecutor::limits() const {
  return state->model.context.limits;
}
int64_t CudaExecutor::vocabSize() const {
  return state->model.program.vocabSize;
}
int64_t CudaExecutor::hiddenSize() const {
  return state->model.program.hiddenSize;
}
bool CudaExecutor::hasEmbedding() const {
  return state->model.program.hasEmbedding;
}
bool CudaExecutor::hasOutput() const { return state->model.program.hasOutput; }
uint64_t CudaExecutor::arenaBytes() const { return state->model.arena.bytes(); }

Expected<double> CudaExecutor::timeLastStep(int32_t runs) {
  if (!state->broken.ok())
    return state->broken;
  Expected<double> seconds = state->timeLastStep(runs);
  if (!seconds)
    state->broken = seconds.status();
  return seconds;
}

CudaExecutor::Inside CudaExecutor::inside(int64_t rows) const {
  return {
      state->model.context.plan,     state->model.arena.address(),
      state->model.stream,           state->model.program,
      *state->model.context.kernels, state->model.bucketFor(rows).nodes.list()};
}

void CudaExecutor::observe(NodeSequence::Observer observer) {
  state->observer = std::move(observer);
}

std::span<const float> CudaExecutor::logits(int64_t output) const {
  return state->outputs.logits(output);
}
std::optional<int32_t> CudaExecutor::token(int64_t output) const {
  return state->outputs.token(output);
}
std::span<const TokenLogit> CudaExecutor::candidates(int64_t output) const {
  return state->outputs.candidates(output);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

device::StepBounds CudaExecutor::State::bounds() const {
  const CudaProgram &program = model.program;
  return {.hasEmbedding = program.hasEmbedding,
          .hasOutput = program.hasOutput,
          .vocabSize = program.vocabSize,
          .hiddenSize = program.hiddenSize,
          .limits = model.limits(),
          .hasDeviceRows = true};
}

Status CudaExecutor::execute(const device::StepInput &input) {
  if (!state->broken.ok())
    return state->broken;
  SLUICE_RETURN_IF_ERROR(device::checkStep(input, state->bounds()));
  SLUICE_RETURN_IF_ERROR(state->fillTables(input));
  state->broken =
      state->run(input).withContext(state->model.device->properties().name);
  return state->broken;
}

device::DeviceRows CudaExecutor::sentRows() const {
  return {state->activations.kept(), state->model.stream};
}

Status CudaExecutor::State::fillTables(const device::StepInput &input) {
  const StepGraph &graph = *model.bucketFor(input.batch->rows()).description;
  return tables->fill(input, graph.layout, graph.attention());
}

Expected<double> CudaExecutor::State::timeLastStep(int32_t runs) {
  using Clock = std::chrono::steady_clock;
  if (!lastStep)
    return failure("there was no step");
  SLUICE_RETURN_IF_ERROR(model.device->enter());
  Clock::time_point begin;
  // The first run finds the device idle and is not measured.
  for (int32_t run = 0; run <= runs; ++run) {
    SLUICE_RETURN_IF_ERROR(lastStep->launch(model.stream));
    if (run > 0 && run < runs)
      continue;
    SLUICE_RETURN_IF_ERROR(model.device->record(model.ended, model.stream));
    SLUICE_RETURN_IF_ERROR(watch.await(nullptr, lastStep, std::max(1, run)));
    if (run == 0)
      begin = Clock::now();
  }
  return std::chrono::duration<double>(Clock::now() - begin).count() / runs;
}

/// Runs a step whose tables are filled.
Status CudaExecutor::State::run(const device::StepInput &input) {
  SLUICE_RETURN_IF_ERROR(model.device->enter());
  SLUICE_RETURN_IF_ERROR(copyPages(input.copies));
  watch.begin(input.batch->rows());
  CudaModel::Bucket &bucket = model.bucketFor(input.batch->rows());
  const StepGraph &graph = *bucket.description;
  for (StepTables::Part part : tables->stepParts())
    SLUICE_RETURN_IF_ERROR(sendTables(part));
  SLUICE_RETURN_IF_ERROR(activations.send(graph, input));
  lastStep = &bucket.nodes;
  SLUICE_RETURN_IF_ERROR(lastStep->launch(model.stream, observer));
  watch.expectExchanges(graph.exchanges);
  SLUICE_RETURN_IF_ERROR(fetchResults(graph, input));
  SLUICE_RETURN_IF_ERROR(watch.await(
      graph.checkpoints ? input.checkpoints : nullptr, &bucket.nodes));
  watch.expectExchanges(0);
  rows.replay(graph, input);
  return model.program.hasOutput ? outputs.fetchMissing(graph, input)
                                 : activations.finish(rows, input);
}

Status CudaExecutor::State::sendTables(StepTables::Part part) {
  if (part.count == 0)
    return {};
  const uint64_t offset = uint64_t(part.first) * sizeof(int32_t);
  return model.device->copyToDevice(
      model.arena.address() + model.context.plan.tables + offset,
      tableMemory.data() + offset, uint64_t(part.count) * sizeof(int32_t),
      model.stream);
}

/// Copies pages, as many at a time as the tables have room for. The last copies
/// may still be under way when it returns: their place in the tables is not
/// written again before the step has ended.
Status CudaExecutor::State::copyPages(std::span<const PageCopy> copies) {
  const auto room = static_cast<size_t>(TableLayout::copies);
  while (!copies.empty() && !model.copyNodes.isEmpty()) {
    std::span<const PageCopy> some =
        copies.first(std::min(copies.size(), room));
    copies = copies.subspan(some.size());
    tables->setCopies(some);
    SLUICE_RETURN_IF_ERROR(sendTables(tables->copyPart()));
    SLUICE_RETURN_IF_ERROR(model.copyNodes.launch(model.stream));
    if (copies.empty())
      break;
    // The next copies overwrite these entries of the tables.
    SLUICE_RETURN_IF_ERROR(model.device->record(model.ended, model.stream));
    SLUICE_RETURN_IF_ERROR(watch.await(nullptr, &model.copyNodes));
  }
  return {};
}

/// Puts the copies of the step's results into the stream, and an event after
/// them.
Status CudaExecutor::State::fetchResults(const StepGraph &graph,
                                         const device::StepInput &input) {
  SLUICE_RETURN_IF_ERROR(model.program.hasOutput
                             ? outputs.fetch(graph, input)
                             : activations.fetch(graph, input));
  SLUICE_RETURN_IF_ERROR(rows.fetch(graph, input.batch->rows()));
  return model.device->record(model.ended, model.stream);
}

} // namespace sluice::cuda
