//===- PartitionTables.cpp - the search behind partition() ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/PartitionTables.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>

using namespace sluice;
using namespace sluice::cluster;

// 40 bytes each: the tables take 160 MiB at most.
constexpr int64_t maxStates = int64_t(1) << 22;
// A part of a model that takes longer than this many seconds on a device is a
// mistake; the sum over 4,096 layers and 256 stages then fits 64 bits.
constexpr double maxPartSeconds = 1800;

//===----------------------------------------------------------------------===//
// The tables
//===----------------------------------------------------------------------===//

static int64_t toPicoseconds(double seconds) {
  return int64_t(std::llround(seconds * 1e12));
}

static double partSeconds(const PartCost &part, int64_t context,
                          const Device &device) {
  double sum = 0;
  for (const OpCost &op : part.ops)
    sum += opSeconds(op, 1, context, device);
  return sum;
}

/// Bytes of a part with its cache; nothing where they do not fit 2^60.
static std::optional<int64_t> partMemory(const PartCost &part,
                                         int64_t positions) {
  int64_t cache = 0, sum = 0;
  if (__builtin_mul_overflow(part.cacheBytesPerPosition(), positions, &cache) ||
      __builtin_add_overflow(part.memoryBytes, cache, &sum) ||
      sum > (int64_t(1) << 60) / (maxLayers + 2))
    return std::nullopt;
  return sum;
}

Expected<PartitionTables> PartitionTables::create(const ModelCost &model,
                                                  const Cluster &cluster,
                                                  int64_t context,
                                                  int64_t cachePositions,
                                                  int64_t activationBytes) {
  PartitionTables tables;
  tables.machines = &cluster;
  tables.layerCount = int64_t(model.layers.size());
  if (tables.layerCount < 1 || tables.layerCount > maxLayers)
    return failure("a model of ", tables.layerCount,
                   " layers cannot be cut: it needs 1 to ", maxLayers);
  if (context < 0 || cachePositions < 0)
    return failure("a context of ", std::min(context, cachePositions),
                   " positions is negative");
  auto memoryOf = [&](const PartCost &part) {
    return partMemory(part, cachePositions);
  };
  std::optional<int64_t> embedding = memoryOf(model.embedding);
  std::optional<int64_t> output = memoryOf(model.output);
  tables.layerMemory = {0};
  for (const PartCost &layer : model.layers) {
    std::optional<int64_t> bytes = memoryOf(layer);
    if (!bytes || !embedding || !output)
      return failure("a part of the model needs more memory than any device "
                     "can have");
    tables.layerMemory.push_back(tables.layerMemory.back() + *bytes);
  }
  tables.embeddingMemory = *embedding;
  tables.outputMemory = *output;
  tables.tiedMemory = model.tiedBytes;

  for (Place place : cluster.stagePlaces()) {
    const Device &device = cluster.device(place);
    DeviceSteps on;
    on.fixed = toPicoseconds(device.overheadSeconds + device.rowSeconds);
    double most = 0;
    auto timeOf = [&](const PartCost &part) {
      double seconds = partSeconds(part, context, device);
      most = std::max(most, seconds);
      return toPicoseconds(std::min(seconds, maxPartSeconds));
    };
    on.embedding = timeOf(model.embedding);
    on.output = timeOf(model.output);
    on.layers = {0};
    for (const PartCost &layer : model.layers)
      on.layers.push_back(on.layers.back() + timeOf(layer));
    if (most > maxPartSeconds)
      return failure("'", cluster.placeName(place), "' would take ", most,
                     " s for a part of the model: more than ", maxPartSeconds);
    tables.steps.push_back(std::move(on));
    for (Place to : cluster.stagePlaces()) {
      Way &way = tables.ways.emplace_back();
      if (std::optional<Link> link = cluster.link(place, to)) {
        int64_t bytes = model.hidden * activationBytes;
        way.occupancy = toPicoseconds(
            std::min(linkOccupancySeconds(*link, bytes), maxPartSeconds));
        way.hop = toPicoseconds(link->latencySeconds) + way.occupancy;
      }
    }
  }
  return tables;
}

int64_t PartitionTables::memory(int64_t first, int64_t end) const {
  bool embeds = first == 0, outputs = end == layerCount;
  return layerMemory[size_t(end)] - layerMemory[size_t(first)] +
         (embeds ? embeddingMemory : 0) + (outputs ? outputMemory : 0) -
         (embeds && outputs ? tiedMemory : 0);
}

int64_t PartitionTables::leastTrip() const {
  auto least = [&](auto part) {
    int64_t best = impossible;
    for (const DeviceSteps &on : steps)
      best = std::min(best, int64_t(part(on)));
    return best;
  };
  int64_t sum = least([](const DeviceSteps &on) { return on.fixed; }) +
                least([](const DeviceSteps &on) { return on.embedding; }) +
                least([](const DeviceSteps &on) { return on.output; });
  for (size_t l = 0; l < size_t(layerCount); ++l)
    sum += least(
        [&](const DeviceSteps &on) { return on.layers[l + 1] - on.layers[l]; });
  return sum;
}

//===----------------------------------------------------------------------===//
// The slowest slot
//===----------------------------------------------------------------------===//

Expected<std::vector<int64_t>>
PartitionTables::slowestByStages(int64_t most) const {
  int64_t count = devices(), width = layerCount + 1;
  if (most * count > maxStates / width)
    return failure(most, " stages on ", count, " devices of ", layerCount,
                   " layers are too many ways to cut: allow fewer stages");
  std::vector<int64_t> result(size_t(most) + 1, impossible);
  // slot[d][l]: the slowest slot of the best cut of layers [0, l) into as many
  // stages as the loop has come to, the last of them on d.
  // before[d][l]: the same if a stage on d follows, its incoming link included.
  std::vector<int64_t> slot(size_t(count * width), impossible), before;
  for (int64_t d = 0; d < count; ++d)
    for (int64_t l = 1; l <= layerCount && fits(d, 0, l); ++l)
      slot[size_t(d * width + l)] = step(d, 0, l);
  for (int64_t stages = 1; stages <= most; ++stages) {
    for (int64_t d = 0; d < count; ++d)
      result[size_t(stages)] = std::min(result[size_t(stages)],
                                        slot[size_t(d * width + layerCount)]);
    before.assign(slot.size(), impossible);
    for (int64_t d = 0; d < count; ++d)
      for (int64_t from = 0; from < d; ++from)
        if (connected(from, d))
          for (int64_t l = 1; l < layerCount; ++l) {
            int64_t &best = before[size_t(d * width + l)];
            best = std::min(best, std::max(slot[size_t(from * width + l)],
                                           occupancy(from, d)));
          }
    std::fill(slot.begin(), slot.end(), impossible);
    for (int64_t d = 0; d < count; ++d)
      for (int64_t l = 2; l <= layerCount; ++l) {
        int64_t &best = slot[size_t(d * width + l)];
        // A longer stage is a slower one.
        for (int64_t first = l - 1;
             first >= 1 && fits(d, first, l) && step(d, first, l) < best;
             --first)
          best = std::min(best, std::max(step(d, first, l),
                                         before[size_t(d * width + first)]));
      }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// The shortest trip
//===----------------------------------------------------------------------===//

namespace {

/// How good a cut of the first layers is: lower is better.
struct Score {
  int64_t trip = PartitionTables::impossible;
  unsigned __int128 squares = 0; // of the steps: least where they are even

  bool operator<(const Score &other) const {
    return trip != other.trip ? trip < other.trip : squares < other.squares;
  }
};

/// The best cut that ends with a stage on some device before some layer, and
/// how the stage before it ended.
struct State {
  Score score;
  int32_t first = 0;
  int32_t fromDevice = -1;
};

} // namespace

Cut PartitionTables::shortestTrip(int64_t stages, int64_t slowest) const {
  int64_t count = devices(), width = layerCount + 1;
  // states[s][d][l], as in slowestByStages(); reached[l] for one d.
  std::vector<std::vector<State>> states;
  std::vector<State> reached(static_cast<size_t>(width));
  for (int64_t s = 0; s < stages; ++s) {
    std::vector<State> &now = states.emplace_back(size_t(count * width));
    for (int64_t d = 0; d < count; ++d) {
      std::fill(reached.begin(), reached.end(), State());
      if (s == 0)
        reached[0] = {{0, 0}, 0, -1};
      for (int64_t from = 0; s > 0 && from < d; ++from)
        if (connected(from, d) && occupancy(from, d) <= slowest)
          for (int64_t l = 1; l < layerCount; ++l) {
            Score score = states[size_t(s - 1)][size_t(from * width + l)].score;
            if (score.trip == impossible)
              continue;
            score.trip += way(from, d).hop;
            if (score < reached[size_t(l)].score)
              reached[size_t(l)] = {score, 0, int32_t(from)};
          }
      for (int64_t l = 1; l <= layerCount; ++l)
        for (int64_t first = l - 1;
             first >= 0 && fits(d, first, l) && step(d, first, l) <= slowest;
             --first) {
          State state = reached[size_t(first)];
          if (state.score.trip == impossible)
            continue;
          int64_t time = step(d, first, l);
          state.score.trip += time;
          state.score.squares +=
              static_cast<unsigned __int128>(time) * uint64_t(time);
          state.first = int32_t(first);
          if (state.score < now[size_t(d * width + l)].score)
            now[size_t(d * width + l)] = state;
        }
    }
  }

  int64_t device = 0, end = layerCount;
  auto state = [&](int64_t s) -> const State & {
    return states[size_t(s)][size_t(device * width + end)];
  };
  for (int64_t d = 1; d < count; ++d)
    if (states.back()[size_t(d * width + end)].score <
        states.back()[size_t(device * width + end)].score)
      device = d;
  Cut cut;
  cut.trip = state(stages - 1).score.trip;
  assert(cut.trip != impossible && "the bound can be reached");
  cut.stages.resize(size_t(stages));
  for (int64_t s = stages - 1; s >= 0; --s) {
    cut.stages[size_t(s)] = {device, end};
    State at = state(s);
    cut.slowest = std::max(cut.slowest, step(device, at.first, end));
    if (at.fromDevice >= 0)
      cut.slowest = std::max(cut.slowest, occupancy(at.fromDevice, device));
    end = at.first;
    device = at.fromDevice;
  }
  return cut;
}
