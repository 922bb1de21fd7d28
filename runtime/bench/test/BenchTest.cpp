//===- BenchTest.cpp - the load generator ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/Bench.h"
#include "runtime/base/OpenFiles.h"

#include "runtime/bench/test/FakeBackend.h"
#include "runtime/http/client/test/LoopbackServer.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <sys/socket.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::bench;
using namespace sluice::bench::test;
using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

namespace {

BenchOptions someOptions() {
  BenchOptions options;
  options.workload.requests = 20;
  options.workload.arrival = Arrival::Poisson;
  options.workload.meanIntervalMs = 10;
  options.workload.outputTokens = *LengthDistribution::parse("uniform:2:9");
  options.json = true;
  return options;
}

FakeScript usual(const BenchRequest &spec) { return steady(spec, 30ms, 10ms); }

TEST(BenchTest, RunsAndSaves) {
  BenchOptions options = someOptions();
  options.saveRequests = testing::TempDir() + "/bench-requests.jsonl";
  FakeBackend backend(usual);
  Expected<BenchResult> result = runBench(options, backend, {});
  ASSERT_TRUE(result) << result.status().message();
  json report = json::parse(result->report);
  EXPECT_EQ(report["completed"], 20);
  EXPECT_EQ(report["ttft_ms"]["mean"], 30);
  EXPECT_EQ(report["itl_ms"]["p99"], 10);
  std::ifstream file(options.saveRequests);
  std::string line;
  int lines = 0;
  while (std::getline(file, line))
    EXPECT_EQ(json::parse(line)["request"], lines++);
  EXPECT_EQ(lines, 20);
  options.json = false;
  EXPECT_THAT(runBench(options, backend, {})->report,
              HasSubstr("requests completed           20\n"));
}

/// The same seed gives the same run, to the last byte.
TEST(BenchTest, IsRepeatable) {
  BenchOptions options = someOptions();
  FakeBackend one(usual), two(usual), three(usual);
  std::string report = runBench(options, one, {})->report;
  EXPECT_EQ(report, runBench(options, two, {})->report);
  options.workload.seed = 1;
  EXPECT_NE(report, runBench(options, three, {})->report);
}

TEST(BenchTest, WarmsUpFirst) {
  BenchOptions options = someOptions();
  options.warmupRequests = 3;
  FakeBackend backend(usual);
  std::vector<std::string> lines;
  BenchHooks hooks;
  hooks.progress = [&](const std::string &line) { lines.push_back(line); };
  Expected<BenchResult> result = runBench(options, backend, hooks);
  ASSERT_TRUE(result);
  EXPECT_EQ(backend.started.size(), 23u);
  EXPECT_EQ(result->summary.requests, 20u);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0], "warming up with 3 requests");
}

TEST(BenchTest, AWarmupThatFails) {
  BenchOptions options = someOptions();
  options.warmupRequests = 3;
  FakeBackend backend([](const BenchRequest &) {
    return FakeScript{
        {}, 1ms, {.errorKind = "connect", .error = "nobody there"}};
  });
  EXPECT_EQ(runBench(options, backend, {}).status().message(),
            "no request of the warm-up succeeded: nobody there");
  EXPECT_EQ(backend.started.size(), 3u);
  BenchHooks hooks;
  hooks.shouldStop = [] { return true; };
  EXPECT_EQ(runBench(options, backend, hooks).status().message(),
            "stopped while warming up");
}

TEST(BenchTest, ConcurrencyAndTimeouts) {
  BenchOptions options;
  options.workload.concurrency = 5;
  options.timeoutSeconds = 0.025; // less than the first token takes
  options.json = true;
  FakeBackend backend(usual);
  Expected<BenchResult> result = runBench(options, backend, {});
  EXPECT_EQ(result->summary.peakInFlight, 5u);
  EXPECT_EQ(result->summary.errorsByKind.at("timeout"), 32u);
}

TEST(BenchTest, RefusesWhatCannotBeMade) {
  FakeBackend backend(usual);
  BenchOptions options = someOptions();
  options.workload.traceFile = "/no/such/file";
  EXPECT_FALSE(runBench(options, backend, {}));
  EXPECT_TRUE(backend.started.empty());
  options = someOptions();
  options.saveRequests = "/no/such/folder/file";
  EXPECT_FALSE(runBench(options, backend, {}));
}

/// Answers `count` requests at once, a token to each in turn, on one thread.
void serveStreams(int listener, size_t count, int tokens) {
  using http::test::Peer;
  std::vector<std::unique_ptr<Peer>> peers;
  auto acceptOne = [&] {
    return std::make_unique<Peer>(accept(listener, nullptr, nullptr));
  };
  std::unique_ptr<Peer> first = acceptOne();
  first->readRequest();
  first->send(http::test::answer("200 OK", R"({"data":[{"id":"m"}]})"));
  peers.push_back(std::move(first)); // its connection is used again
  while (peers.size() < count)
    peers.push_back(acceptOne());
  for (auto &peer : peers) {
    peer->readRequest();
    peer->sendChunkedHead();
  }
  for (int i = 0; i < tokens; ++i)
    for (auto &peer : peers)
      peer->sendChunk("data: {\"choices\":[{\"text\":\"a\"}]}\n\n");
  for (auto &peer : peers) {
    peer->sendChunk("data: [DONE]\n\n");
    peer->sendChunk("");
    close(peer->fd);
  }
}

TEST(BenchTest, AThousandInFlightOverHttp) {
  constexpr size_t count = 1000;
  raiseOpenFileLimit();
  uint16_t port = 0;
  int listener = http::test::listenOnLoopback(port);
  std::thread server(serveStreams, listener, count, 20);
  BenchOptions options;
  options.workload.requests = count;
  options.workload.promptTokens = LengthDistribution(8);
  options.workload.outputTokens = LengthDistribution(20);
  HttpOptions http;
  http.url = "http://127.0.0.1:" + std::to_string(port);
  options.timeoutSeconds = 120;
  Expected<std::unique_ptr<Backend>> backend =
      makeHttpBackend(http, options.prompt, options.workload.seed);
  ASSERT_TRUE(backend) << backend.status().message();
  Expected<BenchResult> result = runBench(options, **backend, {});
  ASSERT_TRUE(result) << result.status().message();
  server.join();
  close(listener);
  const Summary &summary = result->summary;
  EXPECT_EQ(summary.completed, count) << summary.firstError;
  EXPECT_EQ(summary.outputTokens, int64_t(count) * 20);
  EXPECT_EQ(summary.peakInFlight, count);
  EXPECT_EQ(summary.itlMs.count, count * 19);
}

} // namespace
