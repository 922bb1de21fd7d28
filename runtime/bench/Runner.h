//===- Runner.h - running and measuring a workload ------------------------===//
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

/// A request that starts later than this after it is due counts as late.
inline constexpr Time lateStart = std::chrono::milliseconds(1);

/// The measurements of one request. Times count from the run's start.
///
/// The clock of a request starts when it is sent, before a connection is made
/// for it, and not when it was due. A server may send several tokens at once: a
/// gap (ITL) is the time between two pieces of output, whatever their tokens,
/// as in `vllm bench serve`. The number of tokens is the server's (`usage`) or,
/// if it gives none, the number of pieces.
struct RequestRecord {
  BenchRequest spec;
  Time started{0};
  /// How much later than due it started; 0 in a closed loop.
  Time startDelay{0};
  /// Whether it had to wait because of maxInFlight.
  bool heldBack = false;
  Time firstToken{0}, lastToken{0}, ended{0};
  std::vector<Time> gaps; ///< between two pieces of output
  int64_t promptTokens = 0;
  int64_t outputTokens = 0;
  bool tokensFromServer = false; ///< whether it is not a number of pieces
  /// "" for success, "cancelled" if the run was stopped.
  std::string errorKind;
  std::string error;

  bool succeeded() const { return errorKind.empty(); }
  bool cancelled() const { return errorKind == "cancelled"; }
  Time ttft() const { return firstToken - started; }
  /// Returns the time to the last token, as `vllm bench serve` counts it.
  Time e2e() const { return lastToken - started; }
  /// Returns the mean time between two tokens, in nanoseconds; 0 if there is
  /// only one.
  double tpotNanos() const;
};

/// The progress of a run.
struct RunProgress {
  Time elapsed{0};
  size_t total = 0, started = 0, ended = 0, failed = 0;
  int64_t pieces = 0; ///< of output
};

struct RunnerOptions {
  /// The most requests in flight; further ones wait. 0: no limit.
  int64_t maxInFlight = 0;
  /// In a closed loop, arrival times are all 0 and have no meaning: a request
  /// starts when another has ended, and is never late.
  bool closedLoop = false;
  /// A request that takes longer is aborted, which is an error; 0: no limit.
  Time timeout{0};
  /// Called at least every 50 ms; if it returns true, the run aborts what is in
  /// flight and ends.
  std::function<bool()> shouldStop;
  /// Called every half second.
  std::function<void(const RunProgress &)> onProgress;
};

struct RunRecord {
  std::vector<RequestRecord> requests; ///< the started ones
  size_t notStarted = 0;
  /// From the run's start, when the first request was due, to the last end.
  Time duration{0};
  size_t peakInFlight = 0;
  bool stopped = false; ///< by shouldStop
};

/// Sends the requests of `workload`, which must be in the order of arrival.
/// Each is sent at its time after the run's start, whatever happened to earlier
/// ones; one that starts late does not delay later ones. Returns when all have
/// ended.
RunRecord runWorkload(const Workload &workload, Backend &backend,
                      const RunnerOptions &options);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_RUNNER_H
