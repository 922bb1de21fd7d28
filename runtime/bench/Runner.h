//===- Runner.h - sends a workload and measures what comes back -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_RUNNER_H
#define SLUICE_RUNTIME_BENCH_RUNNER_H

#include "runtime/bench/Backend.h"

#include <functional>
#include <string>
#include <vector>

namespace sluice::bench {

/// A started request that is late by more counts as a late start.
inline constexpr Time lateStart = std::chrono::milliseconds(1);

/// What one request did. Times are after the run's start.
///
/// The clock of a request starts when it is sent: not when it was to arrive,
/// and before a connection is made for it. A server may send several tokens at
/// once: a gap (ITL) is the time between two pieces of output, however many
/// tokens each has, as `vllm bench serve` counts it; the number of tokens is
/// the server's own (`usage`) and, where it gives none, the number of pieces.
struct RequestRecord {
  BenchRequest spec;
  Time started{0};
  /// How much later than it was to arrive; 0 in a closed loop.
  Time startDelay{0};
  /// It had to wait for a place among those allowed in flight.
  bool heldBack = false;
  Time firstToken{0}, lastToken{0}, ended{0};
  std::vector<Time> gaps; ///< between two pieces of output
  int64_t promptTokens = 0;
  int64_t outputTokens = 0;
  bool tokensFromServer = false; ///< and not a number of pieces
  /// "" for success, "cancelled" for what stopped with the run.
  std::string errorKind;
  std::string error;

  bool succeeded() const { return errorKind.empty(); }
  bool cancelled() const { return errorKind == "cancelled"; }
  Time ttft() const { return firstToken - started; }
  /// To the last token, as `vllm bench serve` counts it.
  Time e2e() const { return lastToken - started; }
  /// The mean time between two tokens, in nanoseconds; 0 where there is but
  /// one.
  double tpotNanos() const;
};

/// How far a run is.
struct RunProgress {
  Time elapsed{0};
  size_t total = 0, started = 0, ended = 0, failed = 0;
  int64_t pieces = 0; ///< of output
};

struct RunnerOptions {
  /// At most so many in flight, those due later wait; 0: any number.
  int64_t maxInFlight = 0;
  /// Arrival times are all 0 and mean nothing: requests start as places become
  /// free, and none is late.
  bool closedLoop = false;
  /// A request that takes longer is aborted, as an error; 0: no limit.
  Time timeout{0};
  /// Asked at least every 50 ms; true aborts what is in flight and ends the
  /// run.
  std::function<bool()> shouldStop;
  /// Called every half second.
  std::function<void(const RunProgress &)> onProgress;
};

struct RunRecord {
  std::vector<RequestRecord> requests; ///< those that were started
  size_t notStarted = 0;
  /// From the run's start, when the first request was due, to the last end.
  Time duration{0};
  size_t peakInFlight = 0;
  bool stopped = false; ///< by shouldStop
};

/// Sends the requests of `workload`, which are in the order of their arrival,
/// each at its time after the run's start, whatever became of those before; one
/// that starts late does not delay those after it. Returns when all have ended.
RunRecord runWorkload(const Workload &workload, Backend &backend,
                      const RunnerOptions &options);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_RUNNER_H
