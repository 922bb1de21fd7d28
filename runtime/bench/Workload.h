//===- Workload.h - which requests come when ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A workload is a pure function of its options: the same on every machine, and
// request i the same however many others there are.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_WORKLOAD_H
#define SLUICE_RUNTIME_BENCH_WORKLOAD_H

#include "runtime/bench/LengthDistribution.h"
#include "runtime/core/Rows.h"

#include <cstddef>
#include <vector>

namespace sluice::bench {

/// How far apart requests come. The first one always comes at 0. Gaps are not
/// scaled to make their sum what is expected, as `vllm bench serve` does.
enum class Arrival : uint8_t {
  All,     ///< all at once
  Fixed,   ///< each one mean interval after the one before
  Poisson, ///< exponential gaps
  Gamma,   ///< gamma gaps, of which `burstiness` is the shape
};

struct WorkloadOptions {
  int64_t requests = 32;
  Arrival arrival = Arrival::All;
  double meanIntervalMs = 0;
  /// The gaps' standard deviation is mean / sqrt(burstiness): 1 is Poisson,
  /// less comes in bursts, more is more even (`--burstiness` of vLLM).
  double burstiness = 1;
  /// Closed loop: so many in flight, the next one starts when one ends; arrival
  /// times are then all 0. 0: open loop, by arrival times.
  int64_t concurrency = 0;
  LengthDistribution promptTokens{128};
  LengthDistribution outputTokens{128};
  /// Arrival times and lengths from this file instead; see TraceFile.h. At most
  /// `requests` of it.
  std::string traceFile;
  uint64_t seed = 0;
};

struct BenchRequest {
  size_t index = 0;
  Time arrival{0}; ///< after the run's start
  int64_t promptTokens = 0;
  int64_t outputTokens = 0;
  uint64_t seed = 0; ///< of its prompt and its sampling
};

using Workload = std::vector<BenchRequest>;

/// Errors: the trace file's, arrivals beyond a year, a mean interval that is
/// missing or given for nothing.
Expected<Workload> makeWorkload(const WorkloadOptions &options);

/// What is sent before a run to warm up: `count` requests of the same lengths
/// and other prompts, all at once.
Expected<Workload> makeWarmup(const WorkloadOptions &options, int64_t count);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_WORKLOAD_H
