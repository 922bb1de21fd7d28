//===- HttpBackendTest.cpp - requests to a server on the loopback ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/HttpBackend.h"

#include "runtime/bench/Runner.h"
#include "runtime/http/client/test/LoopbackServer.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <sys/socket.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::bench;
using namespace sluice::http::test;
using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

constexpr const char *models =
    R"({"data":[{"id":"tiny","meta":{"n_vocab":50}}]})";
constexpr const char *token =
    "data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":null}]}\n\n";
constexpr const char *lastToken =
    "data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":\"length\"}]}\n\n";
constexpr const char *usage =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,"
    "\"completion_tokens\":6}}\n\n";

/// Serves /v1/models; passes all other requests to `serve`.
std::function<void(Peer &)>
withModels(std::function<void(Peer &, const std::string &)> serve) {
  return [serve = std::move(serve)](Peer &peer) {
    for (std::string request = peer.readRequest(); !request.empty();
         request = peer.readRequest())
      if (request.starts_with("GET "))
        peer.send(answer("200 OK", models));
      else
        serve(peer, request);
  };
}

Workload requests(size_t count) {
  WorkloadOptions options;
  options.requests = static_cast<int64_t>(count);
  options.promptTokens = LengthDistribution(4);
  options.outputTokens = LengthDistribution(6);
  return *makeWorkload(options);
}

std::unique_ptr<Backend> backendFor(const std::string &url,
                                    HttpOptions options = {}) {
  options.url = url;
  Expected<std::unique_ptr<Backend>> backend = makeHttpBackend(options, {}, 0);
  EXPECT_TRUE(backend) << backend.status().message();
  return backend ? backend.take() : nullptr;
}

/// Sends one request to a server that answers it by `serve`.
RequestRecord runOne(std::function<void(Peer &, const std::string &)> serve) {
  LoopbackServer server(withModels(std::move(serve)));
  std::unique_ptr<Backend> backend = backendFor(server.url());
  RunnerOptions runner;
  runner.timeout = 10s;
  RunRecord run = runWorkload(requests(1), *backend, runner);
  EXPECT_EQ(run.requests.size(), 1u);
  return run.requests.front();
}

TEST(HttpBackendTest, AStreamIsMeasured) {
  std::string seen;
  RequestRecord record = runOne([&](Peer &peer, const std::string &request) {
    seen = request;
    std::this_thread::sleep_for(30ms);
    peer.sendChunkedHead();
    peer.sendChunk(token);
    std::this_thread::sleep_for(30ms);
    peer.sendChunk(lastToken);
    peer.sendChunk(usage);
    peer.sendChunk("data: [DONE]\n\n");
    peer.sendChunk("");
  });
  EXPECT_TRUE(record.succeeded()) << record.error;
  EXPECT_GE(record.ttft(), 30ms);
  ASSERT_EQ(record.gaps.size(), 1u);
  EXPECT_GE(record.e2e(), 60ms);
  EXPECT_EQ(record.gaps[0], record.e2e() - record.ttft());
  EXPECT_EQ(record.promptTokens, 4);
  EXPECT_EQ(record.outputTokens, 6);
  EXPECT_TRUE(record.tokensFromServer);
  EXPECT_THAT(seen, StartsWith("POST /v1/completions HTTP/1.1\r\n"));
  json body = json::parse(seen.substr(seen.find("\r\n\r\n") + 4));
  EXPECT_EQ(body["model"], "tiny");
  EXPECT_EQ(body["max_tokens"], 6);
  for (const json &id : body["prompt"])
    EXPECT_LT(id, 50); // the server's vocabulary
}

TEST(HttpBackendTest, ChatWithAKeyBehindAPath) {
  std::string seen, first;
  LoopbackServer server([&](Peer &peer) {
    first = peer.readRequest();
    peer.send(answer("200 OK", models));
    seen = peer.readRequest();
    peer.sendChunkedHead("text/event-stream; charset=utf-8");
    peer.sendChunk("data: {\"choices\":[{\"delta\":{\"role\":\"assistant\","
                   "\"content\":\"\"}}]}\n\ndata: {\"choices\":[{\"delta\":{"
                   "\"content\":\"a\"}}]}\n\n");
    peer.sendChunk("data: [DONE]\n\n");
    peer.sendChunk("");
  });
  HttpOptions options;
  options.apiKey = "key";
  options.api.endpoint = BenchEndpoint::Chat;
  options.api.model = "mine";
  std::unique_ptr<Backend> backend =
      backendFor(server.url() + "/openai/v1/", options);
  RunRecord run = runWorkload(requests(1), *backend, {});
  EXPECT_TRUE(run.requests[0].succeeded()) << run.requests[0].error;
  EXPECT_EQ(run.requests[0].outputTokens, 1); // one piece
  EXPECT_FALSE(run.requests[0].tokensFromServer);
  EXPECT_THAT(first, StartsWith("GET /openai/v1/models HTTP/1.1\r\n"));
  EXPECT_THAT(seen, StartsWith("POST /openai/v1/chat/completions HTTP/1.1"));
  EXPECT_THAT(seen, HasSubstr("\r\nAuthorization: Bearer key\r\n"));
  EXPECT_THAT(seen, HasSubstr("\"model\":\"mine\""));
}

void expectError(const RequestRecord &record, const char *kind,
                 const char *why) {
  EXPECT_EQ(record.errorKind, kind) << record.error;
  EXPECT_THAT(record.error, HasSubstr(why));
}

TEST(HttpBackendTest, Statuses) {
  expectError(runOne([](Peer &peer, const std::string &) {
                peer.send(
                    answer("429 Too Many Requests",
                           R"({"error":{"message":"the queue is full"}})"));
              }),
              "http_429",
              "the server answers 429 Too Many Requests: the queue is full");
  expectError(runOne([](Peer &peer, const std::string &) {
                peer.send(answer("500 Internal Server Error", ""));
              }),
              "http_500", "the server answers 500 Internal Server Error");
  expectError(runOne([](Peer &peer, const std::string &) {
                peer.send(answer("404 Not Found", std::string(1 << 20, 'x')));
              }),
              "http_404", "Not Found: xxx");
}

TEST(HttpBackendTest, StreamsThatGoWrong) {
  auto streamOf = [](const std::string &text, bool whole = true) {
    return [text, whole](Peer &peer, const std::string &) {
      peer.sendChunkedHead();
      peer.sendChunk(text);
      if (whole)
        peer.sendChunk("");
      else
        shutdown(peer.fd, SHUT_RDWR);
    };
  };
  expectError(runOne(streamOf(token, false)), "closed",
              "closed before the answer's end");
  expectError(runOne(streamOf(token)), "closed",
              "the stream ended without a finish_reason");
  expectError(runOne(streamOf("data: [DONE]\n\n")), "no_tokens",
              "the answer has no token");
  expectError(runOne(streamOf("data: <html>\n\n")), "malformed",
              "an event's data is not a JSON object: '<html>'");
  expectError(runOne(streamOf(std::string(2 << 20, 'x'))), "malformed",
              "event stream: a line or event has more than");
  expectError(runOne(streamOf("data: {\"error\": \"out of memory\"}\n\n")),
              "server", "the server reports: out of memory");
  expectError(runOne([](Peer &peer, const std::string &) {
                peer.send(answer("200 OK", "{}"));
              }),
              "malformed", "the answer is not an event stream");
  expectError(runOne([](Peer &peer, const std::string &) {
                peer.send("nonsense\r\n\r\n");
              }),
              "malformed", "not HTTP/1");
}

/// Returns whether `count` becomes `wanted` within 10 s.
bool becomes(const std::atomic<int> &count, int wanted) {
  for (int i = 0; i < 1000 && count != wanted; ++i)
    std::this_thread::sleep_for(10ms);
  return count == wanted;
}

/// A time-out closes the connection, so that the server cancels the request.
TEST(HttpBackendTest, TimeoutsCloseTheConnection) {
  std::atomic<int> gone = 0;
  LoopbackServer server(withModels([&](Peer &peer, const std::string &) {
    peer.sendChunkedHead();
    peer.sendChunk(token);
    gone += peer.waitForClose();
  }));
  std::unique_ptr<Backend> backend = backendFor(server.url());
  RunnerOptions options;
  options.timeout = 100ms;
  RunRecord run = runWorkload(requests(3), *backend, options);
  for (const RequestRecord &record : run.requests)
    expectError(record, "timeout", "it took more than 100 ms");
  EXPECT_TRUE(becomes(gone, 3));
}

TEST(HttpBackendTest, StoppingClosesConnections) {
  std::atomic<int> gone = 0, begun = 0;
  LoopbackServer server(withModels([&](Peer &peer, const std::string &) {
    ++begun;
    gone += peer.waitForClose();
  }));
  std::unique_ptr<Backend> backend = backendFor(server.url());
  RunnerOptions options;
  options.shouldStop = [&] { return begun == 5; };
  RunRecord run = runWorkload(requests(5), *backend, options);
  EXPECT_TRUE(run.stopped);
  EXPECT_TRUE(becomes(gone, 5));
}

/// The server fails several times, then works: no request affects another.
TEST(HttpBackendTest, ManyRequestsOneAfterAnother) {
  std::atomic<int> number = 0;
  LoopbackServer server(withModels([&](Peer &peer, const std::string &) {
    if (++number % 3 == 0)
      return void(peer.send(answer("503 Service Unavailable", "")));
    peer.sendChunkedHead();
    peer.sendChunk(std::string(token) + lastToken);
    peer.sendChunk("");
  }));
  std::unique_ptr<Backend> backend = backendFor(server.url());
  RunnerOptions options;
  options.closedLoop = true;
  options.maxInFlight = 4;
  RunRecord run = runWorkload(requests(60), *backend, options);
  int succeeded = 0;
  for (const RequestRecord &record : run.requests)
    succeeded += record.succeeded();
  EXPECT_EQ(succeeded, 40);
  EXPECT_EQ(run.peakInFlight, 4u);
}

TEST(HttpBackendTest, RefusesWhatIsNoServer) {
  auto refusal = [](const std::string &url, HttpOptions options = {}) {
    options.url = url;
    Expected<std::unique_ptr<Backend>> made = makeHttpBackend(options, {}, 0);
    return made ? "" : made.status().message();
  };
  EXPECT_THAT(refusal("127.0.0.1:80"),
              HasSubstr("must begin with http:// or https://"));
  EXPECT_THAT(refusal("http://h/?x=1"), HasSubstr("it has a query"));
  uint16_t port = 0;
  close(listenOnLoopback(port));
  EXPECT_THAT(refusal("http://127.0.0.1:" + std::to_string(port)),
              HasSubstr("cannot connect: Connection refused"));
  HttpOptions spoiled;
  spoiled.apiKey = "a\nb";
  EXPECT_THAT(refusal("http://127.0.0.1:1", spoiled),
              HasSubstr("a control character in the field Authorization"));
  LoopbackServer server([](Peer &peer) {
    while (!peer.readRequest().empty())
      peer.send(answer("401 Unauthorized", R"({"error":"bad key"})"));
  });
  EXPECT_EQ(refusal(server.url()),
            server.url() + "/v1/models: the server answers 401 Unauthorized: "
                           "bad key; name the model");
  HttpOptions named;
  named.api.model = "m";
  EXPECT_EQ(refusal(server.url(), named), "");
}

} // namespace
