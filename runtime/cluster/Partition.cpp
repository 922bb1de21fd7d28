//===- Partition.cpp - the partition of a model into stages ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/Partition.h"

#include "runtime/cluster/PartitionTables.h"
#include "runtime/cluster/Units.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <sstream>

using namespace sluice;
using namespace sluice::cluster;

//===----------------------------------------------------------------------===//
// Errors about memory
//===----------------------------------------------------------------------===//

namespace {

std::string tooLittle(int64_t needed, uint64_t has) {
  return formatBytes(double(needed) - double(has)) + " too little";
}

/// Explains why no cut fits, by the first of these reasons that holds.
class Shortage {
public:
  Shortage(const PartitionTables &tables, int64_t stages)
      : tables(tables), stages(stages) {}

  Status explain() const {
    SLUICE_RETURN_IF_ERROR(oneStage());
    SLUICE_RETURN_IF_ERROR(oneLayer());
    SLUICE_RETURN_IF_ERROR(together());
    SLUICE_RETURN_IF_ERROR(inOrder());
    SLUICE_RETURN_IF_ERROR(paths());
    return failure("no cut into ", stages,
                   " stages fits the memory of the nodes in their order and "
                   "the ways between them and the head");
  }

private:
  int64_t layers() const { return tables.layers(); }
  uint64_t memoryOf(int64_t d) const {
    return tables.cluster().device(tables.place(d)).memoryBytes;
  }
  std::string nameOf(int64_t d) const {
    return "node '" + tables.cluster().placeName(tables.place(d)) + "'";
  }
  int64_t largest() const {
    int64_t best = 0;
    for (int64_t d = 1; d < tables.devices(); ++d)
      if (memoryOf(d) > memoryOf(best))
        best = d;
    return best;
  }

  /// Fails if the whole model must go to one device and fits none.
  Status oneStage() const {
    int64_t needed = tables.memory(0, layers());
    if (stages > 1 || uint64_t(needed) <= memoryOf(largest()))
      return {};
    return failure("a stage of all layers needs ", formatBytes(double(needed)),
                   ", ", nameOf(largest()), " has ",
                   formatBytes(double(memoryOf(largest()))), ": ",
                   tooLittle(needed, memoryOf(largest())));
  }

  /// Fails if a layer is larger than any device.
  Status oneLayer() const {
    for (int64_t l = 0; l < layers(); ++l)
      if (int64_t needed = tables.memory(l, l + 1);
          uint64_t(needed) > memoryOf(largest()))
        return failure("a stage of layer ", l, " alone needs ",
                       formatBytes(double(needed)), ", ", nameOf(largest()),
                       ", the largest, has ",
                       formatBytes(double(memoryOf(largest()))), ": ",
                       tooLittle(needed, memoryOf(largest())));
    return {};
  }

  /// Fails if all usable devices together are too small.
  Status together() const {
    std::vector<uint64_t> memory;
    for (int64_t d = 0; d < tables.devices(); ++d)
      memory.push_back(memoryOf(d));
    std::sort(memory.rbegin(), memory.rend());
    memory.resize(size_t(std::min(stages, tables.devices())));
    uint64_t sum = 0;
    for (uint64_t bytes : memory)
      if (__builtin_add_overflow(sum, bytes, &sum))
        return {};
    int64_t needed = tables.memory(0, layers());
    if (uint64_t(needed) <= sum)
      return {};
    return failure("the model needs ", formatBytes(double(needed)), ", ",
                   memory.size(), " nodes have ", formatBytes(double(sum)),
                   " together: ", tooLittle(needed, sum));
  }

  /// Gives each device as many layers as it can hold; fails if the rest does
  /// not fit the last one.
  Status inOrder() const {
    int64_t first = 0;
    for (int64_t d = 0; d < tables.devices(); ++d) {
      int64_t end = first;
      // If every device must be used, some layers are kept for the others.
      int64_t kept = stages == tables.devices() ? tables.devices() - 1 - d : 0;
      while (end < layers() - kept && tables.fits(d, first, end + 1))
        ++end;
      if (end == first && stages == tables.devices())
        return tooSmall(d, first, first + 1);
      if (d + 1 == tables.devices() && end < layers())
        return tooSmall(d, first, layers());
      if (end == layers())
        return {};
      first = end;
    }
    return {};
  }

  Status tooSmall(int64_t d, int64_t first, int64_t end) const {
    int64_t needed = tables.memory(first, end);
    return failure("the nodes before it filled, ", nameOf(d),
                   " is left with layers ", first, " to ", end - 1, ": needs ",
                   formatBytes(double(needed)), ", has ",
                   formatBytes(double(memoryOf(d))), ": ",
                   tooLittle(needed, memoryOf(d)));
  }

  Status paths() const {
    for (int64_t d = 0; d + 1 < tables.devices(); ++d)
      if (!tables.connected(d, d + 1))
        return failure("there is no path between ", nameOf(d), " and ",
                       nameOf(d + 1));
    Place head = tables.head().value_or(tables.place(0));
    for (int64_t d = 0; d < tables.devices(); ++d)
      if (!tables.cluster().link(head, tables.place(d)))
        return failure("there is no path between the head on node '",
                       tables.cluster().placeName(head), "' and ", nameOf(d));
    return {};
  }

  const PartitionTables &tables;
  int64_t stages;
};

//===----------------------------------------------------------------------===//
// Reasons
//===----------------------------------------------------------------------===//

/// Explains why a cut is where it is.
class Reasons {
public:
  Reasons(const PartitionTables &tables, const Cut &cut)
      : tables(tables), cut(cut) {
    for (size_t s = 0; s < cut.stages.size(); ++s)
      slowest = std::max(slowest, stepOf(s));
  }

  /// Returns why stage `s` ends after its last layer.
  std::string of(size_t s) const {
    std::ostringstream text;
    text << "cut after layer " << cut.stages[s].end - 1 << ": ";
    std::string more = problem(s, begin(s), cut.stages[s].end + 1);
    std::string fewer =
        problem(s + 1, cut.stages[s].end - 1, cut.stages[s + 1].end);
    // A layer would be moved away from the slower of the two stages.
    bool wantsFewer = stepOf(s) > stepOf(s + 1);
    if (!fewer.empty() && (wantsFewer || more.empty()))
      text << "with one layer fewer " << fewer;
    else if (!more.empty())
      text << "with one layer more " << more;
    else
      text << "no other place makes the slowest stage faster";
    return text.str();
  }

private:
  int64_t begin(size_t s) const { return s == 0 ? 0 : cut.stages[s - 1].end; }
  int64_t stepOf(size_t s) const {
    return tables.step(cut.stages[s].device, begin(s), cut.stages[s].end);
  }

  /// Returns what is wrong if stage `s` has layers [first, end); empty:
  /// nothing.
  std::string problem(size_t s, int64_t first, int64_t end) const {
    auto none = [](size_t other) {
      return "stage " + std::to_string(other) + " would have none";
    };
    if (end > tables.layers() ||
        (s + 1 < cut.stages.size() && end >= cut.stages[s + 1].end))
      return none(s + 1);
    if (s > 0 && first <= begin(s - 1))
      return none(s - 1);
    int64_t device = cut.stages[s].device;
    Place place = tables.place(device);
    std::ostringstream text;
    text << "stage " << s << " would ";
    if (!tables.fits(device, first, end))
      text << "need " << formatBytes(double(tables.memory(first, end)))
           << ", more than the "
           << formatBytes(double(tables.cluster().device(place).memoryBytes))
           << " of " << tables.cluster().placeName(place);
    else if (int64_t step = tables.step(device, first, end); step > slowest)
      text << "take " << formatSeconds(double(step) * 1e-12)
           << ", longer than the slowest stage's "
           << formatSeconds(double(slowest) * 1e-12);
    else
      return "";
    return text.str();
  }

  const PartitionTables &tables;
  const Cut &cut;
  int64_t slowest = 0;
};

//===----------------------------------------------------------------------===//
// Choosing the number of stages
//===----------------------------------------------------------------------===//

double planningModel(double acceptance, double trip, double slowest) {
  double guesses = acceptance / (1 - acceptance);
  return (guesses + 1) / (trip + guesses * slowest);
}

Partition describe(const PartitionTables &tables, const Cut &cut,
                   double acceptance) {
  Partition result;
  Reasons reasons(tables, cut);
  int64_t first = 0;
  for (size_t s = 0; s < cut.stages.size(); ++s) {
    auto [device, end] = cut.stages[s];
    bool last = s + 1 == cut.stages.size();
    StagePlan stage;
    stage.place = tables.place(device);
    stage.range = {.firstLayer = first,
                   .layers = end - first,
                   .embedding = s == 0,
                   .output = last};
    stage.oneRowSeconds = double(tables.step(device, first, end)) * 1e-12;
    if (!last)
      stage.occupancySeconds =
          double(tables.occupancy(device, cut.stages[s + 1].device)) * 1e-12;
    stage.memoryBytes = tables.memory(first, end);
    if (!last)
      stage.reason = reasons.of(s);
    result.stages.push_back(std::move(stage));
    first = end;
  }
  result.slowestSeconds = double(cut.slowest) * 1e-12;
  result.tripSeconds = double(cut.trip) * 1e-12;
  result.tokensPerSecond =
      planningModel(acceptance, result.tripSeconds, result.slowestSeconds);
  return result;
}

Status checkOptions(const PartitionTables &tables,
                    const PartitionOptions &options) {
  if (options.minStages < 1 || options.maxStages < options.minStages ||
      options.maxStages > maxStages)
    return failure("stages from ", options.minStages, " to ", options.maxStages,
                   " are not within [1, ", maxStages, "]");
  if (options.minStages > tables.layers())
    return failure(options.minStages, " stages were asked for, the model has ",
                   tables.layers(), " layers");
  if (options.minStages > tables.devices())
    return failure(options.minStages,
                   " stages were asked for, the cluster has ", tables.devices(),
                   " devices for them");
  if (!(options.acceptance >= 0 && options.acceptance < 1))
    return failure("acceptance ", options.acceptance, " is not in [0, 1)");
  return {};
}

/// A number of stages and an upper bound of what its best cut can reach.
struct StageCount {
  int64_t stages = 0;
  int64_t slowest = 0;
  double hope = 0;
};

/// Returns the possible numbers of stages, the most promising first.
Expected<std::vector<StageCount>>
findCandidates(PartitionTables &tables, const PartitionOptions &options,
               int64_t max) {
  Expected<std::vector<int64_t>> slowest = tables.slowestByStages(max);
  if (!slowest)
    return slowest.status();
  std::vector<StageCount> candidates;
  for (int64_t stages = options.minStages; stages <= max; ++stages) {
    int64_t bound = (*slowest)[size_t(stages)];
    if (bound == PartitionTables::impossible)
      continue;
    double trip = double(tables.minTrip(stages)) * 1e-12;
    candidates.push_back(
        {stages, bound,
         planningModel(options.acceptance, trip, double(bound) * 1e-12)});
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const StageCount &a, const StageCount &b) {
              return a.hope != b.hope ? a.hope > b.hope : a.stages < b.stages;
            });
  return candidates;
}

} // namespace

Expected<Partition> cluster::partition(const ModelCost &model,
                                       const Cluster &cluster,
                                       const PartitionOptions &options) {
  Expected<PartitionTables> tables =
      PartitionTables::create(model, cluster, options);
  if (!tables)
    return tables.status();
  SLUICE_RETURN_IF_ERROR(checkOptions(*tables, options));
  int64_t max =
      std::min({options.maxStages, tables->layers(), tables->devices()});
  Expected<std::vector<StageCount>> candidates =
      findCandidates(*tables, options, max);
  if (!candidates)
    return candidates.status();

  std::optional<Partition> best;
  for (const StageCount &candidate : *candidates) {
    // The factor keeps rounding from putting the bound below what it bounds.
    if (best && candidate.hope * (1 + 1e-9) < best->tokensPerSecond)
      break;
    Expected<Cut> cut =
        tables->shortestTrip(candidate.stages, candidate.slowest);
    if (!cut)
      return cut.status();
    Partition found = describe(*tables, *cut, options.acceptance);
    if (!best || found.tokensPerSecond > best->tokensPerSecond ||
        (found.tokensPerSecond == best->tokensPerSecond &&
         found.stages.size() < best->stages.size()))
      best = std::move(found);
  }
  if (best)
    return std::move(*best);
  return Shortage(*tables, max).explain();
}
