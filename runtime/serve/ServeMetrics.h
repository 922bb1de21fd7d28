//===- ServeMetrics.h - the server's metrics ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The metrics of GET /metrics. Their names are vLLM's (docs/usage/metrics),
// which dashboards know, with the prefix `sluice:`. A request is one choice of
// one prompt, so an HTTP request with `n` or a list of prompts counts as
// several.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_SERVEMETRICS_H
#define SLUICE_RUNTIME_SERVE_SERVEMETRICS_H

#include "runtime/http/Server.h"
#include "runtime/serve/Metrics.h"
#include "runtime/serve/ServingEngine.h"

#include <array>

namespace sluice::serve {

/// Thread-safe, except noteSteps().
class ServeMetrics {
public:
  /// `model` is the served name, a label of every metric; `version` is the
  /// program's.
  ServeMetrics(const std::string &model, const std::string &version);

private:
  MetricRegistry registry; // before the metrics, which it owns

public:
  Counter &promptTokens;     ///< of requests that had a first token
  Counter &generationTokens; ///< of all tokens, also those after a stop string
  Histogram &timeToFirstToken; ///< seconds since the HTTP request arrived
  Histogram &interTokenLatency;
  Histogram &requestLatency; ///< seconds, for `stop` and `length` only
  Histogram &queueTime;      ///< seconds, of requests that had a first row
  Counter &disconnects;      ///< HTTP requests whose client went away
  Counter &refused;          ///< requests that found no room in the queue

  /// Counts a request that was taken and has ended.
  void ended(FinishReason reason);
  /// Counts an answer by its status.
  void answered(int status);
  /// Counts the steps since the last call. Must be called often, by one thread:
  /// the engine reports its newest steps only.
  void noteSteps(const pipeline::HeadStatus &head);

  /// Returns the text of GET /metrics with the current numbers.
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
