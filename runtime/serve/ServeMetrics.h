//===- ServeMetrics.h - what the server counts ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The metrics of GET /metrics. Names are those that dashboards for serving
// systems know (vLLM's, docs/usage/metrics), with the prefix `sluice:`. A
// request is one prompt and one choice: what `n` and lists of prompts make of
// one HTTP request are several.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_SERVEMETRICS_H
#define SLUICE_RUNTIME_SERVE_SERVEMETRICS_H

#include "runtime/http/Server.h"
#include "runtime/serve/Metrics.h"
#include "runtime/serve/ServingEngine.h"

#include <array>

namespace sluice::serve {

/// Thread-safe, but for noteSteps().
class ServeMetrics {
public:
  /// `model`: the name that is served, on every metric; `version`: the
  /// program's.
  ServeMetrics(const std::string &model, const std::string &version);

private:
  MetricRegistry registry; // before those that are its

public:
  Counter &promptTokens;       ///< of requests that had a first token
  Counter &generationTokens;   ///< that came, also those behind a stop string
  Histogram &timeToFirstToken; ///< seconds, from when the HTTP request came
  Histogram &interTokenLatency;
  Histogram &requestLatency; ///< seconds, of requests that stop or are full
  Histogram &queueTime;      ///< seconds, of requests that had a first row
  Counter &disconnects;      ///< HTTP requests whose client went away
  Counter &refused;          ///< requests: no room in the queue

  /// A request that was taken has ended.
  void ended(FinishReason reason);
  /// An answer has been given, by its status.
  void answered(int status);
  /// The steps that are new since the last call. From one thread, often: the
  /// engine tells of its newest steps only.
  void noteSteps(const pipeline::HeadStatus &head);

  /// The page, with how things stand now.
  std::string text(const EngineStatus &engine, const http::ServerCounters &http,
                   int64_t unparsed);

private:
  static constexpr size_t reasons = 5;

  Histogram &iterationTokens;
  std::array<Counter *, reasons> ends{}; ///< [FinishReason]
  int64_t stepsSeen = 0;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_SERVEMETRICS_H
