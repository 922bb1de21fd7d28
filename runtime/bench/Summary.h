//===- Summary.h - what a run amounts to ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of requests that succeeded, unless it says something else. The names are
// those of `vllm bench serve` and SGLang's bench_serving:
//
//   TTFT  time to first token: from sending a request to its first output
//   ITL   inter-token latency: the gaps between pieces of output, of all
//   requests
//         together; a piece may hold several tokens (see RequestRecord)
//   TPOT  time per output token, without the first: (E2E - TTFT) / (tokens -
//   1),
//         one value for each request that has two tokens
//   E2E   from sending a request to its last token
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_SUMMARY_H
#define SLUICE_RUNTIME_BENCH_SUMMARY_H

#include "runtime/bench/Runner.h"
#include "runtime/bench/Statistics.h"

#include <map>
#include <optional>

namespace sluice::bench {

/// What a request must keep to be a good one, in milliseconds: limits on its
/// TTFT, its TPOT (0 where there is one token), its longest gap and its E2E.
struct GoodputLimits {
  std::optional<double> ttftMs, tpotMs, itlMs, e2eMs;
  std::string text; ///< as it was written

  bool any() const { return ttftMs || tpotMs || itlMs || e2eMs; }
};

/// Reads `ttft:500,itl:50,e2e:3000`, in any order, `tpot` as well. Errors:
/// another name, one that is given twice, a limit that is not a number above 0.
Expected<GoodputLimits> parseGoodput(std::string_view text);

struct Summary {
  size_t requests = 0; ///< started
  size_t completed = 0, failed = 0, cancelled = 0, notStarted = 0;
  std::map<std::string, size_t> errorsByKind;
  std::string firstError; ///< of the first request that failed; "" without one
  double durationSeconds = 0;
  int64_t promptTokens = 0, outputTokens = 0;
  /// Requests whose output was counted in pieces, for want of the server's
  /// word.
  size_t countedInPieces = 0;
  double outputTokensPerSecond = 0, totalTokensPerSecond = 0;
  double requestsPerSecond = 0;
  Statistics ttftMs, itlMs, tpotMs, e2eMs;
  size_t peakInFlight = 0;
  /// Of all that were started: how much later than they were to arrive.
  Statistics startDelayMs;
  size_t lateStarts = 0; ///< without those held back
  size_t heldBack = 0;
  /// Those within the limits, where any are given.
  size_t good = 0;
  int64_t goodTokens = 0;
  bool stopped = false;
};

Summary summarize(const RunRecord &run, const GoodputLimits &limits);

/// Whether a request that succeeded keeps them all.
bool isGood(const RequestRecord &record, const GoodputLimits &limits);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_SUMMARY_H
