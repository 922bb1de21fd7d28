//===- Workload.h - the requests of a benchmark ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A workload is a pure function of its options: it is the same on every
// machine, and request i does not change with the number of requests.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_WORKLOAD_H
#define SLUICE_RUNTIME_BENCH_WORKLOAD_H

#include "runtime/bench/LengthDistribution.h"
#include "runtime/core/Rows.h"

#include <cstddef>
#include <vector>

namespace sluice::bench {

/// The distribution of the gaps between arrivals. The first request arrives at
/// 0. Gaps are not scaled to make their sum the expected one, as `vllm bench
/// serve` does.
enum class Arrival : uint8_t {
  All,     ///< all at once
  Fixed,   ///< each one mean interval after the previous one
  Poisson, ///< exponential gaps
  Gamma,   ///< gamma gaps with the shape `burstiness`
};

struct WorkloadOptions {
  int64_t requests = 32;
  Arrival arrival = Arrival::All;
  double meanIntervalMs = 0;
  /// The gaps' standard deviation is mean / sqrt(burstiness): 1 is Poisson,
  /// smaller values are burstier, larger ones more regular (`--burstiness` of
  /// vLLM).
  double burstiness = 1;
  /// In a closed loop: the number in flight; the next request starts when one
  /// ends, and arrival times are all 0. 0: an open loop, by arrival times.
  int64_t concurrency = 0;
  LengthDistribution promptTokens{128};
  LengthDistribution outputTokens{128};
  /// A file with arrival times and lengths, used instead of the above; see
  /// TraceFile.h. At most `requests` of its requests are used.
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

/// Fails if the trace file does, if arrivals lie beyond a year, or if a mean
/// interval is missing or given without effect.
Expected<Workload> makeWorkload(const WorkloadOptions &options);

/// Returns the requests that warm up a server before a run: `count` requests
/// with the same lengths and other prompts, all at once.
Expected<Workload> makeWarmup(const WorkloadOptions &options, int64_t count);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_WORKLOAD_H
