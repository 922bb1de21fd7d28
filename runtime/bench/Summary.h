//===- Summary.h - the results of a run -----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Summarizes the requests of a run that succeeded, unless a comment says
// something else. The names are those of `vllm bench serve` and SGLang's
// bench_serving:
//
//   TTFT  time to first token: from sending a request to its first output
//   ITL   inter-token latency: the gaps between pieces of output, of all
//         requests together; a piece may have several tokens (RequestRecord)
//   TPOT  time per output token, without the first one:
//         (E2E - TTFT) / (tokens - 1) for each request with two tokens or more
//   E2E   end to end: from sending a request to its last token
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_SUMMARY_H
#define SLUICE_RUNTIME_BENCH_SUMMARY_H

#include "runtime/bench/Runner.h"
#include "runtime/bench/Statistics.h"

#include <map>
#include <optional>

namespace sluice::bench {

/// The limits of a good request, in milliseconds: on its TTFT, its TPOT (0 for
/// a single token), its longest gap and its E2E.
struct GoodputLimits {
  std::optional<double> ttftMs, tpotMs, itlMs, e2eMs;
  std::string text; ///< as the user wrote it

  bool any() const { return ttftMs || tpotMs || itlMs || e2eMs; }
};

/// Parses `ttft:500,itl:50,e2e:3000`, in any order, also with `tpot`. Fails for
/// another or repeated name, or a limit that is not a number above 0.
Expected<GoodputLimits> parseGoodput(std::string_view text);

struct Summary {
  size_t requests = 0; ///< that were started
  size_t completed = 0, failed = 0, cancelled = 0, notStarted = 0;
  std::map<std::string, size_t> errorsByKind;
  std::string firstError; ///< of the first request that failed; or ""
  double durationSeconds = 0;
  int64_t promptTokens = 0, outputTokens = 0;
  /// Requests whose output was counted in pieces, because the server gave no
  /// number.
  size_t countedInPieces = 0;
  double outputTokensPerSecond = 0, totalTokensPerSecond = 0;
  double requestsPerSecond = 0;
  Statistics ttftMs, itlMs, tpotMs, e2eMs;
  size_t peakInFlight = 0;
  /// How much later than due the started requests began.
  Statistics startDelayMs;
  size_t lateStarts = 0; ///< without those that were held back
  size_t heldBack = 0;
  /// Requests within the limits, if there are any.
  size_t good = 0;
  int64_t goodTokens = 0;
  bool stopped = false;
};

Summary summarize(const RunRecord &run, const GoodputLimits &limits);

/// Returns whether a request that succeeded is within all limits.
bool isGood(const RequestRecord &record, const GoodputLimits &limits);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_SUMMARY_H
