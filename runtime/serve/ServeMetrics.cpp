//===- ServeMetrics.cpp - the server's metrics ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/ServeMetrics.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::serve;

// vLLM's bounds, with finer ones below, because small models are faster.
static const std::vector<double> firstTokenBounds = {
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
    1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  640, 2560};
static const std::vector<double> tokenBounds = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3,
    0.4,    0.5,   0.75,   1,     2.5,  5,     7.5,  10,    20,  40,   80};
static const std::vector<double> requestBounds = {
    0.01, 0.03, 0.1, 0.3, 0.5, 0.8, 1,   1.5, 2,   2.5, 5,    10,
    15,   20,   30,  40,  50,  60,  120, 240, 480, 960, 1920, 7680};
static const std::vector<double> stepBounds = {
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};

ServeMetrics::ServeMetrics(const std::string &model, const std::string &version)
    : registry({{"model_name", model}}),
      promptTokens(
          registry.counter("sluice:prompt_tokens_total", "Tokens of prompts.")),
      generationTokens(registry.counter("sluice:generation_tokens_total",
                                        "Tokens generated.")),
      timeToFirstToken(registry.histogram(
          "sluice:time_to_first_token_seconds",
          "From the arrival of a request to its first token.",
          firstTokenBounds)),
      interTokenLatency(registry.histogram("sluice:inter_token_latency_seconds",
                                           "Between two tokens of a request.",
                                           tokenBounds)),
      requestLatency(registry.histogram(
          "sluice:e2e_request_latency_seconds",
          "From the arrival of a request to its last token.", requestBounds)),
      queueTime(registry.histogram(
          "sluice:request_queue_time_seconds",
          "How long a request waited in the queue for its first row.",
          requestBounds)),
      disconnects(registry.counter("sluice:client_disconnects_total",
                                   "Clients that left before their answer.")),
      refused(registry.counter("sluice:requests_refused_total",
                               "Requests that found no room in the queue.")),
      iterationTokens(registry.histogram("sluice:iteration_tokens_total",
                                         "Rows of each step.", stepBounds)) {
  for (size_t reason = 0; reason < reasons; ++reason)
    ends[reason] = &registry.counter(
        "sluice:request_success_total", "Requests that have ended, by how.",
        {{"finished_reason",
          std::string(finishReasonName(static_cast<FinishReason>(reason)))}});
  registry
      .gauge("sluice:build_info", "1, with the program's version.",
             {{"version", version}})
      .set(1);
}

void ServeMetrics::ended(FinishReason reason) {
  ends[static_cast<size_t>(reason)]->add();
}

void ServeMetrics::answered(int status) {
  registry
      .counter("sluice:http_requests_total", "Answers, by their status.",
               {{"code", std::to_string(status)}})
      .add();
}

void ServeMetrics::noteSteps(const pipeline::HeadStatus &head) {
  const auto &rows = head.stepRows;
  stepsSeen = std::max(stepsSeen, head.steps - std::ssize(rows));
  for (; stepsSeen < head.steps; ++stepsSeen)
    iterationTokens.observe(rows[static_cast<size_t>(stepsSeen) % rows.size()]);
}

std::string ServeMetrics::text(const EngineStatus &engine,
                               const http::ServerCounters &http,
                               int64_t unparsed) {
  const pipeline::HeadStatus &head = engine.head;
  auto gauge = [this](const char *name, const char *help, double value) {
    registry.gauge(name, help).set(value);
  };
  auto counter = [this](const char *name, const char *help, auto value) {
    registry.counter(name, help).raiseTo(static_cast<uint64_t>(value));
  };
  gauge("sluice:num_requests_running", "Requests that run.",
        static_cast<double>(head.running));
  gauge("sluice:num_requests_waiting",
        "Requests that wait for their first row, preempted ones among them.",
        static_cast<double>(head.waiting + head.preempted + unparsed));
  gauge("sluice:kv_cache_usage_perc",
        "Pages of the cache that requests use; 1 is all of them.",
        head.pages > 0 ? static_cast<double>(head.pagesUsed) /
                             static_cast<double>(head.pages)
                       : 0);
  counter("sluice:num_preemptions_total",
          "Requests that were preempted, because the cache was full.",
          head.preemptions);
  counter("sluice:nonfinite_answers_total",
          "Answers of the model that were no numbers.", head.notFinite);
  counter("sluice:prefix_cache_queries_total",
          "Tokens of prompts that were looked for in the cache.",
          head.prefixQueries);
  counter("sluice:prefix_cache_hits_total", "Of these, those that were there.",
          head.prefixHits);

  const SpeculationCounters &guesses = head.speculation;
  counter("sluice:spec_decode_num_draft_tokens_total",
          "Rows that the draft computed.", guesses.drafted);
  counter("sluice:spec_decode_num_launched_tokens_total",
          "Guesses that were sent to the first stage.", guesses.launched);
  counter("sluice:spec_decode_num_accepted_tokens_total",
          "Of these, those that came true.", guesses.accepted);
  counter("sluice:spec_decode_num_cancelled_tokens_total",
          "Of these, those that died.", guesses.cancelled);
  counter("sluice:spec_decode_num_rows_saved_total",
          "Of those that died, rows that were not computed to the end.",
          std::max<int64_t>(guesses.cancelled - guesses.computedDead, 0));

  counter("sluice:weight_bytes_verified_total",
          "Bytes of this process's weights that were compared with what they "
          "were.",
          engine.weights.bytes);
  counter("sluice:weight_passes_total", "Times that all of them were.",
          engine.weights.passes);

  gauge("sluice:http_connections", "Open connections.",
        static_cast<double>(http.connections));
  counter("sluice:http_connections_accepted_total", "Connections so far.",
          http.accepted);
  counter("sluice:http_connections_refused_total",
          "Of these, those that were too many.", http.refused);
  counter("sluice:http_received_bytes_total", "Bytes received.", http.bytesIn);
  counter("sluice:http_sent_bytes_total", "Bytes sent.", http.bytesOut);
  return registry.text();
}
