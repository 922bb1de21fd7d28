//===- CudaExecutorLoad.cpp - makes an executor on a GPU ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudaExecutorState.h"
#include "runtime/device/cuda/weights/WeightMaker.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace sluice::cuda {

namespace {

/// Returns [position][cosines, then sines], as sluice_rope_table computes them.
std::vector<float> ropeValues(const device::RopeTable &rope,
                              int64_t positions) {
  auto pairs = static_cast<int64_t>(rope.inverseFrequencies.size());
  std::vector<float> values(static_cast<size_t>(positions * 2 * pairs));
  for (int64_t position = 0; position < positions; ++position) {
    float *cosines = values.data() + position * 2 * pairs;
    for (int64_t i = 0; i < pairs; ++i) {
      float angle =
          static_cast<float>(position) * rope.inverseFrequencies[size_t(i)];
      cosines[i] = std::cos(angle) * rope.attentionFactor;
      cosines[pairs + i] = std::sin(angle) * rope.attentionFactor;
    }
  }
  return values;
}

Status assign(PinnedMemory &memory, Device &device, uint64_t bytes) {
  Expected<PinnedMemory> made =
      PinnedMemory::allocate(device, std::max<uint64_t>(bytes, 1));
  if (!made)
    return made.status();
  memory = made.take();
  return {};
}

} // namespace

CudaExecutor::State::~State() {
  // The calling thread may have entered another device. The members release
  // their memory after this.
  (void)device->enter();
  if (stream)
    (void)device->settle(stream, "what an executor has begun");
  buckets.clear();
  copyNodes = {};
  if (ended)
    device->destroy(ended);
  if (stream)
    device->destroy(stream);
}

/// Waits for a step that has failed but may still run, for instance because its
/// group is lost. The step has as long to end as any other; its exchanges take
/// no longer than in any other.
void CudaExecutor::State::awaitIdle() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + device->options().patience;
  if (!ended || !device->enter().ok() || !device->record(ended, stream).ok())
    return;
  for (Expected<bool> done = false; done && !*done;
       done = device->isDone(ended)) {
    const Clock::time_point now = Clock::now();
    if (exchangesAwaited > 0)
      (void)checkGroup(now.time_since_epoch());
    if (now > end)
      device->giveUp(failure("a step that has failed does not end"));
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

Status CudaExecutor::State::load(const CudaExecutorLimits &limits,
                                 const LoadOptions &loading) {
  SLUICE_RETURN_IF_ERROR(device->enter());
  Expected<Stream> made = device->makeStream();
  if (!made)
    return made.status();
  stream = *made;
  Expected<Event> event = device->makeEvent();
  if (!event)
    return event.status();
  ended = *event;
  // Loading fails if there are no kernels for this chip. Drivers load their
  // code only when a function is asked for.
  SLUICE_RETURN_IF_ERROR(loadKernels());
  SLUICE_RETURN_IF_ERROR(plan(limits));
  Expected<MemoryState> memory = device->memory();
  if (!memory)
    return memory.status();
  SLUICE_RETURN_IF_ERROR(
      checkRoom(context.plan, *memory, device->properties().name));
  if (limits.fastMathBatch)
    if (Status s = device->openProducts(); !s.ok())
      return s.withContext("--fast-math-batch");
  using Step = Status (State::*)();
  for (Step step : {&State::allocate, &State::makeGraphs, &State::makeCopyGraph,
                    &State::uploadGraphs})
    SLUICE_RETURN_IF_ERROR((this->*step)());
  return upload(loading);
}

Status CudaExecutor::State::loadKernels() {
  Expected<std::unique_ptr<KernelLibrary>> loaded =
      KernelLibrary::load(*device, program.image);
  if (!loaded)
    return loaded.status();
  kernels = loaded.take();
  return {};
}

/// Plans how much memory is needed.
Status CudaExecutor::State::plan(const CudaExecutorLimits &limits) {
  context.program = &program;
  context.limits = limits;
  context.multiprocessors = device->properties().multiprocessors;
  context.sharedBytes = device->properties().sharedBytes;
  context.oneTask = device->options().oneTask;
  Expected<MemoryPlan> planned = MemoryPlan::make(program, limits);
  if (!planned)
    return planned.status();
  context.plan = planned.take();
  int64_t kernelCount = 0;
  for (int64_t rows : bucketsOf(limits.rows)) {
    StepGraph counted(context, rows);
    SLUICE_RETURN_IF_ERROR(counted.build());
    kernelCount += counted.kernelCount;
  }
  context.slopes.clear();
  context.plan.graphBytes = graphReserve(kernelCount);
  context.plan.codeBytes =
      codeReserve(program, device->properties(), context.plan.denseRoom);
  return {};
}

Status CudaExecutor::State::allocate() {
  const CudaExecutorLimits &limits = context.limits;
  Expected<Arena> made = Arena::allocate(*device, context.plan.bytes);
  if (!made)
    return made.status();
  arena = made.take();
  context.arena = arena.address();
  const TableLayout layout(limits, limits.rows);
  auto rows = static_cast<uint64_t>(limits.rows);
  uint64_t results =
      program.hasOutput ? uint64_t(limits.outputs) * uint64_t(program.vocabSize)
                        : rows * uint64_t(program.hiddenSize);
  SLUICE_RETURN_IF_ERROR(
      assign(tableMemory, *device, uint64_t(layout.words) * 4));
  const uint64_t passedAt = (rows + 63) / 64 * 64;
  const uint64_t exchangedAt = passedAt + sizeof(int32_t);
  SLUICE_RETURN_IF_ERROR(
      assign(aliveMemory, *device, exchangedAt + sizeof(int32_t)));
  SLUICE_RETURN_IF_ERROR(assign(departedMemory, *device, rows * 4));
  SLUICE_RETURN_IF_ERROR(assign(
      incomingMemory, *device,
      program.hasEmbedding ? 0 : rows * uint64_t(program.hiddenSize) * 4));
  SLUICE_RETURN_IF_ERROR(assign(resultMemory, *device, results * 4));
  SLUICE_RETURN_IF_ERROR(
      assign(tokenMemory, *device, uint64_t(context.plan.tokenOutputs) * 4));
  SLUICE_RETURN_IF_ERROR(assign(candidateMemory, *device,
                                uint64_t(context.plan.tokenOutputs) *
                                    maxCandidates * sizeof(TokenLogit)));
  context.alive = aliveMemory.onDevice();
  context.passed = context.alive + passedAt;
  passed = reinterpret_cast<int32_t *>(aliveMemory.data() + passedAt);
  context.exchanged = context.alive + exchangedAt;
  exchanged = reinterpret_cast<int32_t *>(aliveMemory.data() + exchangedAt);
  tables.emplace(limits, tableMemory.as<int32_t>());
  alive.reserve(rows);
  originOf.reserve(rows);
  stays.reserve(rows);
  rowOf.reserve(rows);
  outputOf.reserve(rows);
  outputSlot.reserve(rows);
  firstOutput.reserve(rows);
  kinds.reserve(rows);
  fetched.reserve(rows);
  return {};
}

Status CudaExecutor::State::makeGraphs() {
  context.kernels = kernels.get();
  for (int64_t rows : bucketsOf(context.limits.rows)) {
    Bucket bucket = {rows, std::make_unique<StepGraph>(context, rows), {}};
    SLUICE_RETURN_IF_ERROR(bucket.description->build());
    Expected<NodeSequence> nodes = NodeSequence::make(
        *device, *kernels, std::exchange(bucket.description->nodes, {}));
    if (!nodes)
      return nodes.status().withContext("a graph of " + std::to_string(rows) +
                                        " rows");
    bucket.nodes = nodes.take();
    buckets.push_back(std::move(bucket));
  }
  seenAt.reserve(static_cast<size_t>(buckets[0].description->checkpoints));
  return {};
}

Status CudaExecutor::State::makeCopyGraph() {
  if (program.caches.empty())
    return {};
  StepGraph description(context, 1);
  PageCopyArguments arguments = {};
  arguments.layers =
      description.pointer<LayerPages>(context.arena + context.plan.layerPages);
  arguments.copies =
      description.pointer<int32_t>(description.table(TableLayout::CopyPairs));
  arguments.copyCount =
      description.pointer<int32_t>(description.table(TableLayout::Copies));
  constexpr uint32_t blocks = 8;
  description.append("sluice_copy_pages",
                     {blocks, static_cast<uint32_t>(program.caches.size()), 1},
                     copyThreads, 0, arguments);
  if (description.nodes.empty())
    return failure("there is no kernel sluice_copy_pages");
  Expected<NodeSequence> made =
      NodeSequence::make(*device, *kernels, std::move(description.nodes));
  if (!made)
    return made.status();
  copyNodes = made.take();
  return {};
}

/// Uploads the graphs now. Otherwise the first step of each capacity would do
/// so while a request waits, and might find too little memory.
Status CudaExecutor::State::uploadGraphs() {
  for (Bucket &bucket : buckets)
    SLUICE_RETURN_IF_ERROR(bucket.nodes.upload(stream));
  return copyNodes.upload(stream);
}

/// Loads weight `number` to its place, unless it shares the place of another
/// weight.
Status CudaExecutor::State::loadWeight(size_t number, WeightUpload &upload,
                                       WeightMaker &maker) {
  const CudaWeight &weight = program.weights[number];
  const DeviceAddress to = context.arena + context.plan.weights[number];
  if (const auto *vector = std::get_if<VectorWeight>(&weight))
    return upload.vector(*vector, to);
  if (const auto *table = std::get_if<TableWeight>(&weight)) {
    if (table->tied >= 0)
      return {};
    return table->matrix.random ? maker.linear(tilesOf(*table), to)
                                : upload.linear(tilesOf(*table), to);
  }
  const auto &linear = std::get<LinearWeight>(weight);
  if (linear.isPartner)
    return {};
  // Random numbers always fit into f16, since their deviation is at most 1.
  if (linear.matrix.random)
    return maker.linear(linear, to);
  return upload.linear(linear, to,
                       /*asHalves=*/context.plan.denseRoom.weightBytes > 0);
}

/// Fills the arena with its initial contents.
Status CudaExecutor::State::upload(const LoadOptions &loading) {
  const MemoryPlan &plan = context.plan;
  const DeviceAddress base = context.arena;
  uint64_t done = 0;
  auto progress = [&](uint64_t bytes) {
    done += bytes;
    return loading.progress ? loading.progress(done, plan.weightBytes)
                            : Status();
  };
  cpu::ThreadPool pool(loading.threads);
  Expected<std::unique_ptr<WeightUpload>> made =
      WeightUpload::create(*device, stream, pool, progress);
  if (!made)
    return made.status();
  WeightUpload &to = **made;
  // The caches, as CacheABI.h wants them, the tickets and the tables start as
  // zeros.
  SLUICE_RETURN_IF_ERROR(device->fill(base + plan.weightBytes, 0,
                                      plan.bytes - plan.weightBytes, stream));
  WeightMaker maker(*device, *kernels, stream, progress);
  for (size_t i = 0; i < program.weights.size(); ++i)
    SLUICE_RETURN_IF_ERROR(loadWeight(i, to, maker));
  SLUICE_RETURN_IF_ERROR(maker.finish());
  for (size_t i = 0; i < program.ropeTables.size(); ++i) {
    std::vector<float> values =
        ropeValues(program.ropeTables[i], context.limits.contextLength);
    SLUICE_RETURN_IF_ERROR(to.bytes(
        values.data(), values.size() * sizeof(float), base + plan.ropes[i]));
  }
  std::vector<LayerPages> layers;
  for (size_t i = 0; i < program.caches.size(); ++i)
    layers.push_back(
        {reinterpret_cast<uint8_t *>(base + plan.caches[i]),
         layerPageBytes(program.caches[i], context.limits.cacheKind)});
  SLUICE_RETURN_IF_ERROR(to.bytes(layers.data(),
                                  layers.size() * sizeof(LayerPages),
                                  base + plan.layerPages));
  SLUICE_RETURN_IF_ERROR(to.bytes(context.slopes.data(),
                                  context.slopes.size() * sizeof(float),
                                  base + plan.slopes));
  return to.finish();
}

Expected<MemoryNeed>
CudaExecutor::memoryNeed(std::shared_ptr<Device> device, CudaProgram program,
                         const CudaExecutorLimits &wanted) {
  Expected<CudaExecutorLimits> limits = resolveLimits(program, wanted);
  if (!limits)
    return limits.status();
  State state(std::move(device), std::move(program));
  SLUICE_RETURN_IF_ERROR(state.plan(*limits));
  return MemoryNeed(state.context.plan);
}

Expected<std::unique_ptr<CudaExecutor>>
CudaExecutor::create(std::shared_ptr<Device> device, CudaProgram program,
                     const CudaExecutorLimits &wanted,
                     const LoadOptions &loading) {
  Expected<CudaExecutorLimits> limits = resolveLimits(program, wanted);
  if (!limits)
    return limits.status();
  auto state = std::make_unique<State>(std::move(device), std::move(program));
  state->context.group = loading.group;
  const int64_t here = loading.group ? loading.group->members() : 1;
  if (state->program.members != here)
    return failure("executor: the program is for a group of ",
                   state->program.members, ", and here are ", here);
  // From here on, the executor's destructor keeps the memory that a device that
  // was given up still writes to.
  std::unique_ptr<CudaExecutor> executor(new CudaExecutor(std::move(state)));
  SLUICE_RETURN_IF_ERROR(executor->state->load(*limits, loading));
  return executor;
}

} // namespace sluice::cuda
