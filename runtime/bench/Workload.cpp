//===- Workload.cpp - the requests of a benchmark -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/Workload.h"

#include "runtime/bench/TraceFile.h"

#include <algorithm>
#include <cmath>

using namespace sluice;
using namespace sluice::bench;

namespace {

constexpr double maxArrivalMs = 366.0 * 24 * 3600 * 1000;

/// Changes the seed, so that a warm-up has other prompts than the run.
constexpr uint64_t warmupSeed = 0x9E3779B97F4A7C15;

/// Returns the gap before request `index`.
double gapMs(const WorkloadOptions &options, size_t index) {
  RandomStream random(options.seed, Purpose::ArrivalGap, index);
  switch (options.arrival) {
  case Arrival::All:
    return 0;
  case Arrival::Fixed:
    return options.meanIntervalMs;
  case Arrival::Poisson:
    return options.meanIntervalMs * random.exponential();
  case Arrival::Gamma:
    break;
  }
  return options.meanIntervalMs / options.burstiness *
         random.gamma(options.burstiness);
}

Status checkOptions(const WorkloadOptions &options) {
  bool needsInterval = options.arrival != Arrival::All;
  if (needsInterval && !(options.meanIntervalMs > 0))
    return failure("these arrivals need a mean interval above 0");
  if (!(options.burstiness > 0))
    return failure("the burstiness must be above 0");
  return {};
}

Expected<Workload> fromDistributions(const WorkloadOptions &options) {
  SLUICE_RETURN_IF_ERROR(checkOptions(options));
  Workload workload(static_cast<size_t>(options.requests));
  double arrivalMs = 0;
  for (size_t i = 0; i < workload.size(); ++i) {
    BenchRequest &spec = workload[i];
    if (i > 0)
      arrivalMs += gapMs(options, i);
    if (arrivalMs > maxArrivalMs)
      return failure("request ", i, " would come after more than a year");
    spec.arrival = Time(std::llround(arrivalMs * 1e6));
    RandomStream prompt(options.seed, Purpose::PromptLength, i);
    RandomStream output(options.seed, Purpose::OutputLength, i);
    spec.promptTokens = options.promptTokens.draw(prompt);
    spec.outputTokens = options.outputTokens.draw(output);
  }
  return workload;
}

Expected<Workload> fromTrace(const WorkloadOptions &options) {
  Expected<std::vector<TraceEntry>> entries = readTraceFile(options.traceFile);
  if (!entries)
    return entries.status();
  Workload workload(
      std::min(entries->size(), static_cast<size_t>(options.requests)));
  for (size_t i = 0; i < workload.size(); ++i) {
    const TraceEntry &entry = (*entries)[i];
    workload[i].arrival = entry.arrival;
    workload[i].promptTokens = entry.promptTokens;
    workload[i].outputTokens = entry.outputTokens;
  }
  return workload;
}

} // namespace

Expected<Workload> bench::makeWorkload(const WorkloadOptions &options) {
  Expected<Workload> workload = options.traceFile.empty()
                                    ? fromDistributions(options)
                                    : fromTrace(options);
  if (!workload)
    return workload;
  for (size_t i = 0; i < workload->size(); ++i) {
    RandomStream random(options.seed, Purpose::RequestSeed, i);
    (*workload)[i].index = i;
    (*workload)[i].seed = random.next64();
  }
  return workload;
}

Expected<Workload> bench::makeWarmup(const WorkloadOptions &options,
                                     int64_t count) {
  WorkloadOptions warmup = options;
  warmup.requests = count;
  warmup.seed ^= warmupSeed;
  Expected<Workload> workload = makeWorkload(warmup);
  if (workload)
    for (BenchRequest &spec : *workload)
      spec.arrival = Time(0);
  return workload;
}
