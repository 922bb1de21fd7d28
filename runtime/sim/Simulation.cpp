//===- Simulation.cpp - a run in virtual time -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/Simulation.h"

#include <algorithm>
#include <cmath>

using namespace sluice;
using namespace sluice::sim;

LatencySummary sim::summarize(std::vector<Time> latencies) {
  LatencySummary summary;
  summary.count = static_cast<int64_t>(latencies.size());
  if (latencies.empty())
    return summary;
  std::sort(latencies.begin(), latencies.end());
  auto at = [&](double share) {
    // The smallest value that at least this share of all values do not exceed.
    auto rank = static_cast<size_t>(
        std::ceil(share * static_cast<double>(latencies.size())));
    return latencies[std::max<size_t>(rank, 1) - 1];
  };
  summary.p50 = at(0.5);
  summary.p99 = at(0.99);
  summary.max = latencies.back();
  return summary;
}

static double seconds(Time time) {
  return std::chrono::duration<double>(time).count();
}

double SimulationResult::ttftSeconds() const {
  if (requests.empty() || requests[0].tokens.empty())
    return 0;
  return seconds(requests[0].firstToken - requests[0].submitted);
}

double SimulationResult::tokensPerSecond() const {
  std::optional<Time> first;
  Time last{0};
  int64_t tokens = 0;
  for (const RequestOutcome &request : requests) {
    if (request.tokens.empty())
      continue;
    first = first ? std::min(*first, request.firstToken) : request.firstToken;
    last = std::max(last, request.lastToken);
    tokens += static_cast<int64_t>(request.tokens.size());
  }
  if (!first || last <= *first)
    return 0;
  return static_cast<double>(tokens - 1) / seconds(last - *first);
}

void sim::setLimits(SimulationConfig &config) {
  PipelineLimits limits;
  limits.speculation = config.speculation;
  limits.requests = config.head.requests;
  limits.contextLength = config.head.contextLength;
  limits.prefillRows = config.head.prefillRows;
  limits.stages = static_cast<int64_t>(config.stages.size());
  limits.pages = config.head.pages;
  limits.sharesPrefixes = config.head.sharesPrefixes;
  limits.fuse = config.stageLimits.fuse;
  config.head.framesInFlight = limits.head().framesInFlight;
  config.stageLimits = limits.stage();
  config.stagePages = limits.cachePages();
  config.draftLimits = limits.draft().stage();
  config.draftPages = limits.draft().cachePages();
}

static StepTimes tableOf(const StepModel &costs) {
  std::vector<Time> predicted;
  for (int32_t rows : StepTimes::rowCounts)
    predicted.push_back(costs.step(rows));
  return StepTimes(predicted);
}

PipelineTimes sim::predictedTimes(const SimulationConfig &config) {
  PipelineTimes times;
  auto link = [&](int64_t from, int64_t to, int64_t bytes) {
    if (from == to)
      return Time(0);
    const LinkTimes &way = config.links[from * config.ranks() + to];
    return way.latency + way.transfer(bytes);
  };
  constexpr int64_t headOfFrame =
      100; // approximate size of a frame with one row, without activations
  auto stages = static_cast<int64_t>(config.stages.size());
  size_t slowest = 0;
  Time trip = link(0, config.rankOfStage(0), headOfFrame) +
              link(config.rankOfStage(stages - 1), 0, headOfFrame) +
              config.headDecision;
  for (int64_t s = 0; s < stages; ++s) {
    const StepModel &costs = config.stages[s];
    trip += costs.step(1);
    if (s + 1 < stages)
      trip += link(config.rankOfStage(s), config.rankOfStage(s + 1),
                   headOfFrame + config.rowBytes);
    if (costs.step(1) > config.stages[slowest].step(1))
      slowest = static_cast<size_t>(s);
  }
  times.slowest = tableOf(config.stages[slowest]);
  times.roundTrip = trip;
  Time farthest{0};
  for (int64_t rank = 1; rank < config.ranks(); ++rank)
    farthest = std::max(farthest, link(0, rank, headOfFrame));
  times.cancelLatency = farthest + config.stages[slowest].step(1) /
                                       config.stages[slowest].stretches(
                                           config.stages[slowest].step(1));
  if (config.placement != SimPlacement::None)
    times.draft = tableOf(config.draftModel);
  return times;
}
