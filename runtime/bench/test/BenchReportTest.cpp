//===- BenchReportTest.cpp - the report of a run --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/BenchReport.h"

#include "runtime/bench/test/FakeBackend.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::bench;
using namespace sluice::bench::test;
using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

namespace {

/// Returns a run of four requests, the last of which failed.
RunRecord someRun() {
  WorkloadOptions options;
  options.requests = 4;
  options.outputTokens = LengthDistribution(3);
  FakeBackend backend([](const BenchRequest &spec) {
    FakeScript script = steady(spec, 20ms, 5ms);
    if (spec.index == 3)
      script = {{}, 1ms, {.errorKind = "http_503", .error = "busy \xFF"}};
    return script;
  });
  return runWorkload(*makeWorkload(options), backend, {});
}

TEST(ReportTest, Json) {
  BenchOptions options;
  options.target = {{"url", "http://127.0.0.1:8081"}};
  options.goodput = *parseGoodput("ttft:500");
  std::string text = reportJson(summarize(someRun(), options.goodput), options);
  json report = json::parse(text);
  EXPECT_EQ(report["requests"], 4);
  EXPECT_EQ(report["completed"], 3);
  EXPECT_EQ(report["errors"], 1);
  EXPECT_EQ(report["errors_by_kind"], json({{"http_503", 1}}));
  EXPECT_DOUBLE_EQ(report["duration_seconds"], 0.03);
  EXPECT_DOUBLE_EQ(report["throughput_tokens_per_second"], 300);
  EXPECT_DOUBLE_EQ(report["throughput_requests_per_second"], 100);
  EXPECT_DOUBLE_EQ(report["goodput_requests_per_second"], 100);
  EXPECT_DOUBLE_EQ(report["goodput_tokens_per_second"], 300);
  EXPECT_EQ(report["goodput_limits"], "ttft:500");
  for (const char *name :
       {"ttft_ms", "itl_ms", "tpot_ms", "e2e_ms", "start_delay_ms"})
    for (const char *value : {"mean", "p50", "p90", "p99", "max"})
      EXPECT_TRUE(report[name][value].is_number()) << name << value;
  EXPECT_DOUBLE_EQ(report["ttft_ms"]["p99"], 20);
  EXPECT_DOUBLE_EQ(report["itl_ms"]["mean"], 5);
  EXPECT_DOUBLE_EQ(report["tpot_ms"]["max"], 5);
  EXPECT_DOUBLE_EQ(report["e2e_ms"]["p50"], 30);
  EXPECT_EQ(report["workload"]["arrival"], "all");
  EXPECT_EQ(report["workload"]["prompt_tokens"], "128");
  EXPECT_EQ(report["workload"]["url"], "http://127.0.0.1:8081");
}

TEST(ReportTest, JsonWithoutAnySuccess) {
  json report = json::parse(reportJson(summarize({}, {}), {}));
  EXPECT_TRUE(report["ttft_ms"].is_null());
  EXPECT_TRUE(report["itl_ms"].is_null());
  EXPECT_EQ(report["throughput_tokens_per_second"], 0);
  EXPECT_FALSE(report.contains("goodput_requests_per_second"));
}

TEST(ReportTest, JsonOfEachKindOfWorkload) {
  auto workloadOf = [](auto change) {
    BenchOptions options;
    change(options);
    return json::parse(reportJson(summarize({}, {}), options))["workload"];
  };
  json gamma = workloadOf([](BenchOptions &options) {
    options.workload.arrival = Arrival::Gamma;
    options.workload.meanIntervalMs = 50;
    options.workload.burstiness = 0.5;
  });
  EXPECT_EQ(gamma["arrival"], "gamma");
  EXPECT_EQ(gamma["mean_interval_ms"], 50);
  EXPECT_EQ(gamma["burstiness"], 0.5);
  json closed = workloadOf(
      [](BenchOptions &options) { options.workload.concurrency = 8; });
  EXPECT_EQ(closed["concurrency"], 8);
  EXPECT_FALSE(closed.contains("arrival"));
  json trace = workloadOf(
      [](BenchOptions &options) { options.workload.traceFile = "t.csv"; });
  EXPECT_EQ(trace["trace_file"], "t.csv");
  EXPECT_FALSE(trace.contains("prompt_tokens"));
}

TEST(ReportTest, Table) {
  BenchOptions options;
  options.goodput = *parseGoodput("ttft:500");
  std::string table =
      reportTable(summarize(someRun(), options.goodput), options);
  EXPECT_THAT(table, HasSubstr("requests completed           3\n"));
  EXPECT_THAT(table, HasSubstr("requests failed              1\n"));
  EXPECT_THAT(table, HasSubstr("  http_503                   1\n"));
  EXPECT_THAT(table, HasSubstr("  the first: busy"));
  EXPECT_THAT(table, HasSubstr("output tokens per second     300.00\n"));
  EXPECT_THAT(table, HasSubstr("goodput limits, ms           ttft:500\n"));
  EXPECT_THAT(
      table,
      HasSubstr("time to first token, ms           20.00      20.00      "
                "20.00      20.00      20.00\n"));
  EXPECT_THAT(reportTable(summarize({}, {}), {}),
              HasSubstr("end to end, ms               -\n"));
}

TEST(ReportTest, RequestLines) {
  std::istringstream lines(requestLines(someRun()));
  std::string line;
  std::vector<json> requests;
  while (std::getline(lines, line))
    requests.push_back(json::parse(line));
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_EQ(requests[1]["request"], 1);
  EXPECT_EQ(requests[1]["output_tokens"], 3);
  EXPECT_EQ(requests[1]["ttft_ms"], 20);
  EXPECT_EQ(requests[1]["itl_ms"], json({5.0, 5.0}));
  EXPECT_EQ(requests[1]["tpot_ms"], 5);
  EXPECT_EQ(requests[1]["e2e_ms"], 30);
  EXPECT_EQ(requests[1]["error_kind"], "");
  EXPECT_EQ(requests[3]["error_kind"], "http_503");
  EXPECT_FALSE(requests[3].contains("ttft_ms"));
}

TEST(ReportTest, ProgressLine) {
  EXPECT_EQ(progressLine({12'340ms, 32, 20, 15, 1, 345}),
            "12.3 s: 15 of 32 requests ended, 5 in flight, 1 failed, 345 "
            "pieces of output");
}

} // namespace
