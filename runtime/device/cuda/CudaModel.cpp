//===- CudaModel.cpp - loads a program on a GPU ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudaModel.h"

#include "runtime/device/cuda/weights/WeightMaker.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

} // namespace

void CudaModel::settle() {
  // The calling thread may have entered another device.
  (void)device->enter();
  if (stream)
    (void)device->settle(stream, "what an executor has begun");
  buckets.clear();
  copyNodes = {};
  if (ended)
    device->destroy(std::exchange(ended, nullptr));
  if (stream)
    device->destroy(std::exchange(stream, nullptr));
}

CudaModel::Bucket &CudaModel::bucketFor(int64_t rows) {
  return *std::ranges::find_if(
      buckets, [&](const Bucket &each) { return each.rows >= rows; });
}

Status CudaModel::makeStream() {
  Expected<Stream> made = device->makeStream();
  if (!made)
    return made.status();
  stream = *made;
  Expected<Event> event = device->makeEvent();
  if (!event)
    return event.status();
  ended = *event;
  return {};
}

Status CudaModel::begin(const CudaExecutorOptions &limits) {
  SLUICE_RETURN_IF_ERROR(device->enter());
  SLUICE_RETURN_IF_ERROR(makeStream());
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
  Expected<Arena> made = Arena::allocate(*device, context.plan.bytes);
  if (!made)
    return made.status();
  arena = made.take();
  context.arena = arena.address();
  return {};
}

Status CudaModel::loadKernels() {
  Expected<std::unique_ptr<KernelLibrary>> loaded =
      KernelLibrary::load(*device, program.image);
  if (!loaded)
    return loaded.status();
  kernels = loaded.take();
  return {};
}

Status CudaModel::plan(const CudaExecutorOptions &limits) {
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

Status CudaModel::makeGraphs() {
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
  SLUICE_RETURN_IF_ERROR(makeCopyGraph());
  for (Bucket &bucket : buckets)
    SLUICE_RETURN_IF_ERROR(bucket.nodes.upload(stream));
  return copyNodes.upload(stream);
}

Status CudaModel::makeCopyGraph() {
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

/// Loads weight `number` to its place, unless it shares the place of another
/// weight.
Status CudaModel::loadWeight(size_t number, WeightUpload &upload,
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

Status CudaModel::upload(const LoadOptions &loading) {
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

} // namespace sluice::cuda
