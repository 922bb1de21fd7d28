//===- MemoryPlan.cpp - the layout of a program's device memory -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/MemoryPlan.h"

#include "runtime/device/cuda/DenseLinear.h"
#include "runtime/device/cuda/JoinedTasks.h"
#include "runtime/device/cuda/driver/FatBinary.h"
#include "runtime/device/cuda/kernels/SampleABI.h"
#include "runtime/device/cuda/weights/WeightUpload.h"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace sluice::cuda {

namespace {

constexpr uint64_t alignment = 256;
/// Room for the slopes of some hundred layers that differ; equal slopes are
/// stored once.
constexpr uint64_t slopeRoom = 16384;
/// The maximum for the partial results of spans, which StepTables assigns to
/// rows. For 32 rows of a llama-8b there is room for nearly 500 spans each:
/// 63,000 positions.
constexpr uint64_t maxSpanBytes = uint64_t{256} << 20;

/// Assigns places in the arena and records whether sizes have overflowed.
class Planner {
public:
  uint64_t take(uint64_t bytes) {
    uint64_t begin = end;
    uint64_t padded = 0;
    overflowed |= __builtin_add_overflow(bytes, alignment - 1, &padded);
    padded = padded / alignment * alignment;
    overflowed |= __builtin_add_overflow(end, padded, &end);
    return begin;
  }
  /// Takes count * each bytes.
  uint64_t take(uint64_t count, uint64_t each) {
    uint64_t bytes = 0;
    overflowed |= __builtin_mul_overflow(count, each, &bytes);
    return take(bytes);
  }
  uint64_t end = 0;
  bool overflowed = false;
};

/// The memory that all linear kernels share: the partial sums and tickets of
/// the largest.
struct LinearRoom {
  uint64_t partialFloats = 0;
  uint64_t tickets = 0;

  void include(const LinearRoom &other) {
    partialFloats = std::max(partialFloats, other.partialFloats);
    tickets = std::max(tickets, other.tickets);
  }
};

/// Returns what the launch of the products first .. first + count - 1 needs.
LinearRoom launchRoom(const CudaProgram &program,
                      const CudaExecutorOptions &limits, size_t first,
                      size_t count) {
  int32_t blocks = 0, parts = 1;
  WeightKind kind = {};
  for (size_t number = first; number < first + count; ++number) {
    const auto &task =
        std::get<device::ProductTask>(program.step.tasks[number]);
    const auto *linear =
        std::get_if<LinearWeight>(&program.weights[size_t(task.weight)]);
    // Building the graph refuses such a task.
    if (!linear)
      return {};
    const WeightSpec spec = *weightSpec(*linear);
    kind = spec.kind;
    blocks += divideUp(static_cast<int32_t>(columnTiles(spec)), linearWarps);
    parts = std::max(parts,
                     linearSplits(kind, static_cast<int32_t>(spec.outFeatures),
                                  static_cast<int32_t>(spec.inFeatures)));
  }
  LinearRoom room;
  if (parts == 1)
    return room;
  for (int64_t bucket : bucketsOf(limits.rows)) {
    const auto capacity = static_cast<int32_t>(bucket);
    const int32_t rows = linearRows(bucket);
    room.include({linearPartialFloats(kind, blocks, parts, capacity, rows),
                  uint64_t(blocks) * uint64_t(divideUp(capacity, rows))});
  }
  return room;
}

LinearRoom linearRoom(const CudaProgram &program,
                      const CudaExecutorOptions &limits) {
  LinearRoom room;
  for (size_t task = 0; task < program.step.tasks.size();) {
    const size_t count = joinedTasks(program, task);
    if (std::holds_alternative<device::ProductTask>(program.step.tasks[task]))
      room.include(launchRoom(program, limits, task, count));
    task += count;
  }
  return room;
}

/// The memory that the attention of all layers shares: a row's partial results
/// in one span, and tickets, of the largest.
struct AttendRoom {
  uint64_t spanFloats = 0;
  uint64_t tickets = 0;
};

AttendRoom attendRoom(const CudaProgram &program,
                      const CudaExecutorOptions &limits) {
  AttendRoom room;
  for (const device::StepTask &task : program.step.tasks) {
    const auto *attend = std::get_if<device::AttendTask>(&task);
    if (!attend)
      continue;
    const device::CacheShape &cache = program.caches[size_t(attend->cache)];
    const auto heads = static_cast<int32_t>(
        program.step.attentions[size_t(attend->attention)].heads);
    const int32_t dim = cacheDim(static_cast<int32_t>(cache.headDim));
    room.spanFloats =
        std::max(room.spanFloats, uint64_t(heads) * uint64_t(spanFloats(dim)));
    room.tickets =
        std::max(room.tickets,
                 uint64_t(attendTickets(
                     heads, static_cast<int32_t>(cache.kvHeads), limits.rows)));
  }
  return room;
}

void planWeights(const CudaProgram &program, const CudaExecutorOptions &limits,
                 Planner &planner, MemoryPlan &plan) {
  for (const CudaWeight &weight : program.weights) {
    uint64_t bytes = 0;
    if (const auto *linear = std::get_if<LinearWeight>(&weight))
      bytes = linear->isPartner ? 0 : *layoutBytes(*weightSpec(*linear));
    else if (const auto *vector = std::get_if<VectorWeight>(&weight))
      bytes = uint64_t(vector->matrix.rows) * uint64_t(vector->matrix.cols) *
              sizeof(float);
    else if (const auto &table = std::get<TableWeight>(weight); table.tied < 0)
      bytes = *layoutBytes(*weightSpec(tilesOf(table)));
    plan.weights.push_back(planner.take(bytes));
  }
  for (size_t i = 0; i < program.weights.size(); ++i)
    if (const auto *table = std::get_if<TableWeight>(&program.weights[i]);
        table && table->tied >= 0)
      plan.weights[i] = plan.weights[size_t(table->tied)];
  for (const device::RopeTable &table : program.ropeTables)
    plan.ropes.push_back(
        planner.take(uint64_t(limits.contextLength),
                     2 * table.inverseFrequencies.size() * sizeof(float)));
}

void planStep(const CudaProgram &program, const CudaExecutorOptions &limits,
              Planner &planner, MemoryPlan &plan) {
  const LinearRoom linear = linearRoom(program, limits);
  const AttendRoom attend = attendRoom(program, limits);
  uint64_t before = planner.end;
  plan.values = planner.take(uint64_t(paddedCapacity(limits.rows)),
                             uint64_t(program.rowFloats) * sizeof(float));
  // Outputs come directly after the rows' values, since their place depends on
  // the capacity of a graph.
  planner.take(uint64_t(paddedCapacity(limits.outputs)),
               uint64_t(program.outputFloats) * sizeof(float));
  plan.partials = planner.take(linear.partialFloats, sizeof(float));
  plan.ticketBytes =
      std::max(linear.tickets, attend.tickets) * sizeof(uint32_t);
  plan.tickets = planner.take(plan.ticketBytes);
  plan.tailTicket = planner.take(sizeof(uint32_t));
  plan.denseRoom = denseRoom(program, limits);
  plan.dense = planner.take(plan.denseRoom.weightBytes);
  plan.sums = planner.take(plan.denseRoom.sumBytes);
  plan.workspace = planner.take(plan.denseRoom.workspaceBytes);
  plan.spansPerRow = static_cast<int32_t>(
      (limits.contextLength + spanTokens - 1) / spanTokens);
  const uint64_t spanBytes = attend.spanFloats * sizeof(float);
  plan.spanPlaces = static_cast<int32_t>(
      std::min<uint64_t>(uint64_t(limits.rows) * uint64_t(plan.spansPerRow),
                         maxSpanBytes / std::max<uint64_t>(1, spanBytes)));
  plan.spans = planner.take(uint64_t(plan.spanPlaces) + uint64_t(limits.rows),
                            spanBytes);
  plan.slopeFloats = slopeRoom;
  plan.slopes = planner.take(slopeRoom, sizeof(float));
  plan.tables =
      planner.take(uint64_t(TableLayout(limits, limits.rows).words), 4);
  plan.moves = planner.take(uint64_t(limits.rows), 4);
  plan.rowNow = planner.take(uint64_t(limits.rows), 4);
  plan.tokenOutputs =
      program.hasOutput && program.step.findsTokens() ? limits.outputs : 0;
  const auto outputs = uint64_t(plan.tokenOutputs);
  plan.greedy = planner.take(outputs, 4);
  plan.candidates = planner.take(outputs, maxCandidates * sizeof(TokenLogit));
  plan.found = planner.take(
      outputs, uint64_t(sampleFoundWords(int32_t(program.vocabSize))) *
                   sizeof(uint64_t));
  plan.decided = planner.take(program.members > 1 ? uint64_t(limits.rows) : 0);
  plan.stepBytes = planner.end - before;
}

/// Returns the size in GB, or in MB if it is below one GB.
std::string sizeText(uint64_t bytes) {
  char text[32];
  bool large = bytes >= 1000000000;
  std::snprintf(text, sizeof(text), "%.2f %s",
                double(bytes) / (large ? 1e9 : 1e6), large ? "GB" : "MB");
  return text;
}

} // namespace

int64_t bucketOf(int64_t rows, int64_t limit) {
  return std::min(
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rows))), limit);
}

std::vector<int64_t> bucketsOf(int64_t limit) {
  std::vector<int64_t> buckets;
  for (int64_t rows = 1; rows < limit; rows *= 2)
    buckets.push_back(rows);
  buckets.push_back(limit);
  return buckets;
}

int64_t layerPageBytes(const device::CacheShape &shape, CacheKind kind) {
  return shape.kvHeads *
         pageHeadBytes(kind, cacheDim(static_cast<int32_t>(shape.headDim)));
}

Expected<MemoryPlan> MemoryPlan::make(const CudaProgram &program,
                                      const CudaExecutorOptions &limits) {
  MemoryPlan plan;
  Planner planner;
  planWeights(program, limits, planner, plan);
  plan.weightBytes = planner.end;
  for (const device::CacheShape &shape : program.caches)
    plan.caches.push_back(
        planner.take(uint64_t(limits.pages),
                     uint64_t(layerPageBytes(shape, limits.cacheKind))));
  plan.layerPages = planner.take(program.caches.size(), sizeof(LayerPages));
  plan.cacheBytes = planner.end - plan.weightBytes;
  planStep(program, limits, planner, plan);
  plan.bytes = planner.end;
  if (planner.overflowed)
    return failure("GPU memory: more is needed than can be addressed");
  return plan;
}

uint64_t graphReserve(int64_t kernels) {
  constexpr uint64_t nodeBytes = 4096;
  return uint64_t(kernels) * nodeBytes;
}

uint64_t codeReserve(const CudaProgram &program, const DeviceProperties &device,
                     const DenseRoom &dense) {
  constexpr uint64_t productBytes = uint64_t{64} << 20;
  return codeBytesOf(program.image) + device.kernelBytes +
         (dense.weightBytes > 0 ? productBytes : 0);
}

MemoryNeed &MemoryNeed::operator+=(const MemoryNeed &other) {
  weightBytes += other.weightBytes;
  cacheBytes += other.cacheBytes;
  stepBytes += other.stepBytes;
  graphBytes += other.graphBytes;
  codeBytes += other.codeBytes;
  bytes += other.bytes;
  return *this;
}

MemoryNeed &MemoryNeed::operator-=(const MemoryNeed &other) {
  weightBytes -= other.weightBytes;
  cacheBytes -= other.cacheBytes;
  stepBytes -= other.stepBytes;
  graphBytes -= other.graphBytes;
  codeBytes -= other.codeBytes;
  bytes -= other.bytes;
  return *this;
}

Status checkRoom(const MemoryNeed &plan, const MemoryState &state,
                 const std::string &name) {
  const uint64_t needed = plan.bytes + plan.graphBytes + plan.codeBytes;
  if (needed <= state.freeBytes)
    return {};
  return failure(
      name, ": too little memory: ", sizeText(needed), " is needed (weights ",
      sizeText(plan.weightBytes), ", cache ", sizeText(plan.cacheBytes),
      ", a step ", sizeText(plan.stepBytes), ", reserved for graphs ",
      sizeText(plan.graphBytes), " and code ", sizeText(plan.codeBytes), "), ",
      sizeText(state.freeBytes), " of ", sizeText(state.totalBytes),
      " is free: ", sizeText(needed - state.freeBytes), " is missing");
}

} // namespace sluice::cuda
