//===- ServeMetricsTest.cpp - the server's metrics ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/ServeMetrics.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::serve;

static bool has(const std::string &text, const std::string &line) {
  return ('\n' + text).find('\n' + line + '\n') != std::string::npos;
}

/// The metrics that dashboards use exist from the start.
TEST(ServeMetrics, NamesAreThere) {
  ServeMetrics metrics("m", "1");
  std::string text = metrics.text({}, {}, 0);
  for (const char *name :
       {"num_requests_running", "num_requests_waiting", "kv_cache_usage_perc",
        "prompt_tokens_total", "generation_tokens_total",
        "time_to_first_token_seconds", "inter_token_latency_seconds",
        "e2e_request_latency_seconds", "request_queue_time_seconds",
        "iteration_tokens_total", "request_success_total",
        "prefix_cache_queries_total", "prefix_cache_hits_total",
        "num_preemptions_total"})
    EXPECT_NE(text.find("# TYPE sluice:" + std::string(name) + ' '), text.npos)
        << name;
  for (const char *reason : {"stop", "length", "cancelled", "timeout", "error"})
    EXPECT_TRUE(has(text, "sluice:request_success_total{model_name=\"m\","
                          "finished_reason=\"" +
                              std::string(reason) + "\"} 0"))
        << reason;
}

TEST(ServeMetrics, EachStepIsCountedOnce) {
  ServeMetrics metrics("m", "1");
  pipeline::HeadStatus head;
  auto step = [&head](int32_t rows) {
    head.stepRows[static_cast<size_t>(head.steps++) % head.stepRows.size()] =
        rows;
  };
  step(1);
  step(2);
  metrics.noteSteps(head);
  metrics.noteSteps(head);
  step(4);
  metrics.noteSteps(head);
  std::string sum = "sluice:iteration_tokens_total_sum{model_name=\"m\"} ";
  EXPECT_TRUE(has(metrics.text({}, {}, 0), sum + '7'));
  // If there are more steps than the engine reports, the newest ones count.
  for (int i = 0; i < 1000; ++i)
    step(10);
  metrics.noteSteps(head);
  EXPECT_TRUE(has(metrics.text({}, {}, 0), sum + "2567"));
}

TEST(ServeMetrics, RequestsThatAreNotReadWaitAsWell) {
  ServeMetrics metrics("m", "1");
  EngineStatus engine;
  engine.head.waiting = 2;
  engine.head.preempted = 1;
  EXPECT_TRUE(has(metrics.text(engine, {}, 4),
                  "sluice:num_requests_waiting{model_name=\"m\"} 7"));
}

TEST(ServeMetrics, VerifiedWeightsAreCounted) {
  ServeMetrics metrics("m", "1");
  EXPECT_TRUE(has(metrics.text({}, {}, 0),
                  "sluice:weight_bytes_verified_total{model_name=\"m\"} 0"));
  EngineStatus engine;
  engine.weights = {5000000000, 2};
  std::string text = metrics.text(engine, {}, 0);
  EXPECT_TRUE(has(
      text, "sluice:weight_bytes_verified_total{model_name=\"m\"} 5000000000"));
  EXPECT_TRUE(has(text, "sluice:weight_passes_total{model_name=\"m\"} 2"));
}

TEST(ServeMetrics, EndsAndAnswersByTheirKind) {
  ServeMetrics metrics("m", "1");
  metrics.ended(FinishReason::Length);
  metrics.answered(200);
  metrics.answered(200);
  metrics.answered(404);
  std::string text = metrics.text({}, {.accepted = 5, .bytesOut = 70}, 0);
  EXPECT_TRUE(has(text, "sluice:request_success_total{model_name=\"m\","
                        "finished_reason=\"length\"} 1"));
  EXPECT_TRUE(
      has(text, "sluice:http_requests_total{model_name=\"m\",code=\"200\"} 2"));
  EXPECT_TRUE(
      has(text, "sluice:http_requests_total{model_name=\"m\",code=\"404\"} 1"));
  EXPECT_TRUE(
      has(text, "sluice:http_connections_accepted_total{model_name=\"m\"} 5"));
  EXPECT_TRUE(has(text, "sluice:http_sent_bytes_total{model_name=\"m\"} 70"));
}
