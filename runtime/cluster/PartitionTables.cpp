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

// States of shortestTrip(), of 48 bytes each: at most 96 MiB.
constexpr int64_t maxStates = int64_t(1) << 21;
// A part of a model that takes longer than this many seconds on a device is a
// mistake. The sum over 4,096 layers and 256 stages then fits 64 bits.
constexpr double maxPartSeconds = 1800;

//===----------------------------------------------------------------------===//
// The tables
//===----------------------------------------------------------------------===//

static int64_t toPicoseconds(double seconds) {
  return int64_t(std::llround(seconds * 1e12));
}

static double partSeconds(const PartCost &part, int64_t context,
                          const DeviceSpec &device) {
  double sum = 0;
  for (const OpCost &op : part.ops)
    sum += opSeconds(op, 1, context, device);
  return sum;
}

Status cluster::checkPartTimes(const ModelCost &model, const Cluster &cluster,
                               Place place, int64_t context) {
  double max = 0;
  auto look = [&](const PartCost &part) {
    max = std::max(max, partSeconds(part, context, cluster.device(place)));
  };
  look(model.embedding);
  look(model.output);
  for (const PartCost &layer : model.layers)
    look(layer);
  if (max <= maxPartSeconds)
    return {};
  return failure("'", cluster.placeName(place), "' would take ", max,
                 " s for a part of the model: more than ", maxPartSeconds);
}

/// Returns the bytes of a part with its cache; nullopt if they do not fit 2^60.
static std::optional<int64_t> partMemory(const PartCost &part,
                                         int64_t positions) {
  int64_t cache = 0, sum = 0;
  if (__builtin_mul_overflow(part.cacheBytesPerPosition(), positions, &cache) ||
      __builtin_add_overflow(part.memoryBytes, cache, &sum) ||
      sum > (int64_t(1) << 60) / (maxLayers + 2))
    return std::nullopt;
  return sum;
}

Expected<PartitionTables>
PartitionTables::create(const ModelCost &model, const Cluster &cluster,
                        const PartitionOptions &options) {
  PartitionTables tables;
  tables.machines = &cluster;
  tables.headPlace = options.head;
  tables.stepsLeft = options.searchSteps;
  tables.layerCount = int64_t(model.layers.size());
  if (tables.layerCount < 1 || tables.layerCount > maxLayers)
    return failure("a model of ", tables.layerCount,
                   " layers cannot be cut: it needs 1 to ", maxLayers);
  if (options.context < 0 || options.cachePositions < 0)
    return failure("a context of ",
                   std::min(options.context, options.cachePositions),
                   " positions is negative");
  if (int64_t(cluster.stagePlaces().size()) >
      maxStates / (tables.layerCount + 1))
    return failure(cluster.stagePlaces().size(), " devices and ",
                   tables.layerCount,
                   " layers leave too many ways to cut: describe fewer "
                   "devices");
  auto memoryOf = [&](const PartCost &part) {
    return partMemory(part, options.cachePositions);
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
  for (Place place : cluster.stagePlaces())
    SLUICE_RETURN_IF_ERROR(tables.addDevice(model, place, options));
  tables.findEnds();
  return tables;
}

/// Adds the times of the device at `place` and of its links.
Status PartitionTables::addDevice(const ModelCost &model, Place place,
                                  const PartitionOptions &options) {
  const DeviceSpec &device = machines->device(place);
  DeviceSteps on;
  on.fixed = toPicoseconds(device.overheadSeconds + device.rowSeconds);
  SLUICE_RETURN_IF_ERROR(
      checkPartTimes(model, *machines, place, options.context));
  auto timeOf = [&](const PartCost &part) {
    return toPicoseconds(partSeconds(part, options.context, device));
  };
  on.embedding = timeOf(model.embedding);
  on.output = timeOf(model.output);
  on.layers = {0};
  for (const PartCost &layer : model.layers)
    on.layers.push_back(on.layers.back() + timeOf(layer));
  steps.push_back(std::move(on));
  for (Place to : machines->stagePlaces()) {
    Way &way = ways.emplace_back();
    if (std::optional<Link> link = machines->link(place, to)) {
      int64_t bytes = model.hidden * options.activationBytes;
      way.occupancy = toPicoseconds(
          std::min(linkOccupancySeconds(*link, bytes), maxPartSeconds));
      way.hop = toPicoseconds(link->latencySeconds) + way.occupancy;
    }
  }
  return {};
}

/// Finds the paths of the head's messages.
void PartitionTables::findEnds() {
  auto hop = [&](Place from, Place to) {
    // A head beside a stage needs no message to it.
    if (from == to)
      return int64_t(0);
    std::optional<Link> link = machines->link(from, to);
    return link ? toPicoseconds(std::min(linkSeconds(*link, headMessageBytes),
                                         maxPartSeconds))
                : impossible;
  };
  auto count = size_t(devices());
  if (headPlace) {
    Ends &ends = allEnds.emplace_back();
    for (int64_t d = 0; d < devices(); ++d) {
      ends.first.push_back(hop(*headPlace, place(d)));
      ends.last.push_back(hop(place(d), *headPlace));
    }
    ends.only = ends.last;
    return;
  }
  for (int64_t first = 0; first < devices(); ++first) {
    // Devices are used in order, so the last stage's comes after the first's.
    std::vector<int64_t> back(count, impossible);
    for (int64_t d = first + 1; d < devices(); ++d)
      back[size_t(d)] = hop(place(d), place(first));
    auto same =
        std::find_if(allEnds.begin(), allEnds.end(), [&](const Ends &ends) {
          return std::equal(back.begin() + first + 1, back.end(),
                            ends.last.begin() + first + 1);
        });
    if (same == allEnds.end())
      same = allEnds.insert(same,
                            {std::vector<int64_t>(count, impossible),
                             std::move(back), std::vector<int64_t>(count, 0)});
    same->first[size_t(first)] = 0;
  }
}

Status PartitionTables::spend(int64_t steps) {
  stepsLeft -= steps;
  if (stepsLeft >= 0)
    return {};
  return failure(devices(), " devices and ", layerCount,
                 " layers leave too many ways to cut: ask for one number of "
                 "stages, or describe fewer devices");
}

int64_t PartitionTables::memory(int64_t first, int64_t end) const {
  bool embeds = first == 0, outputs = end == layerCount;
  return layerMemory[size_t(end)] - layerMemory[size_t(first)] +
         (embeds ? embeddingMemory : 0) + (outputs ? outputMemory : 0) -
         (embeds && outputs ? tiedMemory : 0);
}

int64_t PartitionTables::minTrip(int64_t stages) const {
  auto min = [&](auto part) {
    int64_t best = impossible;
    for (const DeviceSteps &on : steps)
      best = std::min(best, int64_t(part(on)));
    return best;
  };
  int64_t hop = impossible;
  for (const Way &way : ways)
    hop = std::min(hop, way.hop);
  int64_t fixed = min([](const DeviceSteps &on) { return on.fixed; });
  int64_t sum = stages * fixed + (stages > 1 ? (stages - 1) * hop : 0) +
                min([](const DeviceSteps &on) { return on.embedding; }) +
                min([](const DeviceSteps &on) { return on.output; });
  for (size_t l = 0; l < size_t(layerCount); ++l)
    sum += min(
        [&](const DeviceSteps &on) { return on.layers[l + 1] - on.layers[l]; });
  return sum;
}

//===----------------------------------------------------------------------===//
// The slowest slot
//===----------------------------------------------------------------------===//

Expected<std::vector<int64_t>> PartitionTables::slowestByStages(int64_t max) {
  std::vector<int64_t> result(size_t(max) + 1, impossible);
  for (const Ends &ends : allEnds)
    SLUICE_RETURN_IF_ERROR(slowestFrom(ends, result));
  return result;
}

/// Like slowestByStages(), for some first stages; `result` has the minimum so
/// far.
Status PartitionTables::slowestFrom(const Ends &ends,
                                    std::vector<int64_t> &result) {
  int64_t count = devices(), width = layerCount + 1, taken = 0;
  // slot[d][l]: the slowest slot of the best cut of layers [0, l) into the
  // current number of stages, the last of them on d.
  // before[d][l]: the same if a stage on d follows, including its incoming
  // link.
  std::vector<int64_t> slot(size_t(count * width), impossible), before;
  for (int64_t d = 0; d < count; ++d)
    for (int64_t l = 1; l <= layerCount && fits(d, 0, l) &&
                        ends.first[size_t(d)] != impossible;
         ++l)
      slot[size_t(d * width + l)] = step(d, 0, l);
  for (int64_t stages = 1;; ++stages) {
    int64_t &reached = result[size_t(stages)];
    for (int64_t d = 0; d < count; ++d)
      reached = std::min(reached, slot[size_t(d * width + layerCount)]);
    if (stages + 1 == int64_t(result.size()))
      return {};
    before.assign(slot.size(), impossible);
    for (int64_t d = 0; d < count; ++d)
      for (int64_t from = 0; from < d; ++from)
        if (ends.reaches(d) && connected(from, d))
          for (int64_t l = 1; l < layerCount; ++l) {
            int64_t &best = before[size_t(d * width + l)];
            best = std::min(best, std::max(slot[size_t(from * width + l)],
                                           occupancy(from, d)));
          }
    std::fill(slot.begin(), slot.end(), impossible);
    // Each of the earlier stages has a device and a layer.
    for (int64_t d = stages; d < count; ++d)
      for (int64_t l = stages + 1; l <= layerCount; ++l) {
        int64_t &best = slot[size_t(d * width + l)];
        // A longer stage is a slower one.
        int64_t first = l - 1;
        for (; first >= stages && fits(d, first, l) && step(d, first, l) < best;
             --first)
          best = std::min(best, std::max(step(d, first, l),
                                         before[size_t(d * width + first)]));
        taken += l - first;
      }
    SLUICE_RETURN_IF_ERROR(spend(taken + count * count / 2 * layerCount));
    taken = 0;
  }
}

//===----------------------------------------------------------------------===//
// The shortest trip
//===----------------------------------------------------------------------===//

/// The quality of a cut of the first layers; lower is better.
struct PartitionTables::Score {
  int64_t trip = PartitionTables::impossible;
  // The sum of squares of the steps, which is least if they are even.
  unsigned __int128 squares = 0;

  bool operator<(const Score &other) const {
    return trip != other.trip ? trip < other.trip : squares < other.squares;
  }
};

/// The best cut that ends with a stage on some device before some layer, and
/// the end of the previous stage.
struct PartitionTables::State {
  Score score;
  int32_t first = 0;
  int32_t fromDevice = -1;
};

/// The best cut of the searches so far.
struct PartitionTables::Best {
  Score score;
  Cut cut;
};

Expected<Cut> PartitionTables::shortestTrip(int64_t stages, int64_t slowest) {
  if (stages * devices() > maxStates / (layerCount + 1))
    return failure(
        stages, " stages on ", devices(), " devices of ", layerCount,
        " layers leave too many ways to cut: ask for fewer stages, or "
        "describe fewer devices");
  Best best;
  for (const Ends &ends : allEnds)
    SLUICE_RETURN_IF_ERROR(shortestFrom(ends, stages, slowest, best));
  assert(best.score.trip != impossible && "the bound can be reached");
  return std::move(best.cut);
}

/// Returns the cut that ends on a device.
Cut PartitionTables::trace(const States &states, int64_t device) const {
  static_assert(sizeof(State) == 48, "as maxStates says");
  Cut cut;
  cut.stages.resize(states.size());
  int64_t end = layerCount, width = end + 1;
  for (size_t s = states.size(); s-- > 0;) {
    cut.stages[s] = {device, end};
    const State &at = states[s][size_t(device * width + end)];
    cut.slowest = std::max(cut.slowest, step(device, at.first, end));
    if (at.fromDevice >= 0)
      cut.slowest = std::max(cut.slowest, occupancy(at.fromDevice, device));
    end = at.first;
    device = at.fromDevice;
  }
  return cut;
}

/// Searches for a better cut among those that begin with some first stages.
Status PartitionTables::shortestFrom(const Ends &ends, int64_t stages,
                                     int64_t slowest, Best &best) {
  int64_t count = devices(), width = layerCount + 1;
  States states;
  std::vector<State> reached(static_cast<size_t>(width)); // [l], for one d
  for (int64_t s = 0; s < stages; ++s) {
    states.emplace_back(size_t(count * width));
    int64_t taken = count * count / 2 * layerCount;
    for (int64_t d = s; d < count; ++d) {
      std::fill(reached.begin(), reached.end(), State());
      if (s == 0)
        reached[0].score = {ends.first[size_t(d)], 0};
      for (int64_t from = 0; s > 0 && ends.reaches(d) && from < d; ++from)
        if (connected(from, d) && occupancy(from, d) <= slowest)
          for (int64_t l = 1; l < layerCount; ++l) {
            Score score = states[size_t(s - 1)][size_t(from * width + l)].score;
            if (score.trip == impossible)
              continue;
            score.trip += way(from, d).hop;
            if (score < reached[size_t(l)].score)
              reached[size_t(l)] = {score, 0, int32_t(from)};
          }
      taken += addStage(d, slowest, reached,
                        std::span(states.back()).subspan(size_t(d * width)));
    }
    SLUICE_RETURN_IF_ERROR(spend(taken));
  }

  for (int64_t d = 0; d < count; ++d) {
    Score score = states.back()[size_t(d * width + layerCount)].score;
    if (score.trip == impossible)
      continue;
    score.trip += ends.back(stages, d);
    if (!(score < best.score))
      continue;
    best = {score, trace(states, d)};
    best.cut.trip = score.trip;
  }
  return {};
}

/// Appends a stage on `d` to the cuts in `reached`, which end before each
/// layer. Returns the number of combinations tried.
int64_t PartitionTables::addStage(int64_t d, int64_t slowest,
                                  std::span<const State> reached,
                                  std::span<State> now) const {
  int64_t tried = 0;
  for (int64_t l = 1; l <= layerCount; ++l)
    for (int64_t first = l - 1;
         first >= 0 && fits(d, first, l) && step(d, first, l) <= slowest;
         --first) {
      ++tried;
      State state = reached[size_t(first)];
      if (state.score.trip == impossible)
        continue;
      int64_t time = step(d, first, l);
      state.score.trip += time;
      state.score.squares +=
          static_cast<unsigned __int128>(time) * uint64_t(time);
      state.first = int32_t(first);
      if (state.score < now[size_t(l)].score)
        now[size_t(l)] = state;
    }
  return tried;
}
