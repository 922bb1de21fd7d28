//===- ErrorsTest.cpp - requests that end with an error -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/test/ServeFixture.h"

using namespace sluice;
using namespace sluice::serve;
using namespace sluice::serve::test;

using sluice::http::test::eventually;

namespace {

class ErrorsTest : public ServeTest {
protected:
  /// Sends a request that takes long to read, and waits until it has arrived.
  std::unique_ptr<TestClient> sendLargest() {
    constexpr int bytes = 7 << 20;
    auto client = send("/v1/completions", {{"prompt", std::string(bytes, 'x')},
                                           {"truncate_prompt_tokens", 5000}});
    EXPECT_TRUE(eventually([&] {
      return std::stod(metric("sluice:http_received_bytes_total")) > bytes;
    }));
    return client;
  }
};

} // namespace

static const json plain = {{"prompt", "p"}};
static const json streamed = {{"prompt", "p"}, {"stream", true}};
/// A request that waits behind a larger one for the pool's slow threads.
static const json large = {{"prompt", std::string(300 << 10, 'x')},
                           {"truncate_prompt_tokens", 5000}};

static const std::string cancelled =
    "sluice:request_success_total{finished_reason=\"cancelled\"}";

//===----------------------------------------------------------------------===//
// Errors from the engine
//===----------------------------------------------------------------------===//

TEST_F(ErrorsTest, AFullQueueIs429) {
  start();
  for (const json &body : {plain, streamed}) {
    size_t index = engine.submitted();
    auto client = send("/v1/completions", body);
    ASSERT_TRUE(engine.wait(index));
    engine.refuse(index, Refusal::QueueFull, "8 requests are waiting");
    ReadAnswer answer = client->read();
    EXPECT_EQ(answer.status, 429);
    EXPECT_EQ(answer.field("Retry-After"), "1");
    json error = errorOf(answer);
    EXPECT_EQ(error["type"], "rate_limit_error");
    EXPECT_EQ(error["code"], "queue_full");
    EXPECT_EQ(error["message"], "8 requests are waiting");
  }
  EXPECT_EQ(metric("sluice:requests_refused_total"), "2");
}

TEST_F(ErrorsTest, WhatCanNeverRunIs400) {
  start();
  auto client = send("/v1/completions", plain);
  ASSERT_TRUE(engine.wait(0));
  engine.refuse(0, Refusal::Invalid, "the prompt needs 9 pages, there are 4");
  ReadAnswer answer = client->read();
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(errorOf(answer)["type"], "invalid_request_error");
  EXPECT_EQ(answer.field("Retry-After"), "");
}

TEST_F(ErrorsTest, WaitingTooLongIs503) {
  start();
  auto client = send("/v1/completions", streamed);
  ASSERT_TRUE(engine.wait(0));
  engine.end(0, FinishReason::Timeout, /*started=*/false);
  ReadAnswer answer = client->read();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.field("Retry-After"), "1");
  EXPECT_EQ(errorOf(answer)["code"], "queue_timeout");
}

TEST_F(ErrorsTest, TakingTooLongIs504) {
  start();
  auto client = send("/v1/completions", plain);
  ASSERT_TRUE(engine.wait(0));
  engine.tell(0, "some");
  engine.end(0, FinishReason::Timeout);
  ReadAnswer answer = client->read();
  EXPECT_EQ(answer.status, 504);
  EXPECT_EQ(errorOf(answer)["code"], "request_timeout");
  EXPECT_EQ(metric("sluice:request_success_total{finished_reason=\"timeout\"}"),
            "1");
}

/// The stream gets an event with the error and then its end, as in vLLM.
TEST_F(ErrorsTest, AnErrorInAStreamIsAnEvent) {
  start();
  auto client = send("/v1/completions", streamed);
  ASSERT_TRUE(engine.wait(0));
  engine.tell(0, "some");
  client->readUntil("\n\n");
  engine.end(0, FinishReason::Timeout);
  std::string rest = client->readUntil("data: [DONE]\n\n");
  size_t at = rest.find("data: {\"error\":");
  ASSERT_NE(at, rest.npos) << rest;
  json error = json::parse(rest.substr(at + 6, rest.find("\n\n", at) - at - 6));
  EXPECT_EQ(error["error"]["code"], "request_timeout");
  EXPECT_EQ(error["error"]["type"], "server_error");
}

TEST_F(ErrorsTest, AnErrorIsOfItsRequestAlone) {
  start();
  auto first = send("/v1/completions", plain);
  ASSERT_TRUE(engine.wait(0));
  auto second = send("/v1/completions", plain);
  ASSERT_TRUE(engine.wait(1));
  engine.end(0, FinishReason::Error, true, "logits are not finite");
  ReadAnswer answer = first->read();
  EXPECT_EQ(answer.status, 500);
  json error = errorOf(answer);
  EXPECT_EQ(error["message"], "logits are not finite");
  EXPECT_EQ(error["type"], "server_error");
  engine.tell(1, "fine");
  engine.end(1, FinishReason::Stop);
  EXPECT_EQ(second->read().status, 200);
}

TEST_F(ErrorsTest, ABrokenPipelineIs503) {
  start();
  auto client = send("/v1/completions", plain);
  ASSERT_TRUE(engine.wait(0));
  engine.breakDown(0, "rank 2 has gone");
  ReadAnswer answer = client->read();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(errorOf(answer)["message"], "rank 2 has gone");
}

/// If one choice is refused, the whole request is, and the other choices end.
TEST_F(ErrorsTest, OneFailedChoiceEndsTheOthers) {
  start();
  auto client = send("/v1/completions", {{"prompt", "p"}, {"n", 3}});
  ASSERT_TRUE(engine.wait(2));
  engine.tell(0, "abc");
  engine.refuse(1, Refusal::QueueFull, "full");
  EXPECT_EQ(client->read().status, 429);
  EXPECT_TRUE(eventually([&] { return engine.open() == 0; }));
  EXPECT_EQ(engine.finished(0), FinishReason::Cancelled);
  EXPECT_EQ(engine.finished(2), FinishReason::Cancelled);
}

//===----------------------------------------------------------------------===//
// Errors from the server
//===----------------------------------------------------------------------===//

TEST_F(ErrorsTest, BadRequestsNeverReachTheEngine) {
  start();
  for (const char *body : {"", "{", "[]", R"({"prompt":5})",
                           R"({"prompt":"p","max_tokens":"many"})"}) {
    ReadAnswer answer =
        ask(http::test::post("/v1/completions", body, jsonField));
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_EQ(errorOf(answer)["type"], "invalid_request_error") << body;
  }
  EXPECT_EQ(
      post("/v1/completions", {{"prompt", "p"}, {"model", "other"}}).status,
      404);
  EXPECT_EQ(engine.submitted(), 0u);
}

TEST_F(ErrorsTest, AFullServerIs429) {
  options.maxQueue = 1;
  options.threads = 1;
  start();
  // The bodies take long to tokenize, so one is being read while one waits.
  const json body = {{"prompt", std::string(4 << 20, 'x')},
                     {"truncate_prompt_tokens", 5000}};
  const std::string large =
      http::test::post("/v1/completions", body.dump(), jsonField);
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<TestClient>(server->port()));
    clients.back()->send(large);
  }
  int refused = 0;
  for (auto &client : clients) {
    ReadAnswer answer = client->read();
    EXPECT_TRUE(answer.status == 400 || answer.status == 429) << answer.body;
    if (answer.status != 429)
      continue;
    ++refused;
    EXPECT_EQ(answer.field("Retry-After"), "1");
    EXPECT_EQ(errorOf(answer)["code"], "queue_full");
  }
  EXPECT_GT(refused, 0);
}

/// The prompts of requests that run or wait count until these end.
TEST_F(ErrorsTest, TooManyBytesOfRequestsAre503) {
  options.maxHeldBytes = 100'000;
  start();
  const std::string request = http::test::post(
      "/v1/completions",
      json{{"prompt", std::string(500, 'x')}, {"n", 16}}.dump(), jsonField);
  std::vector<std::unique_ptr<TestClient>> clients;
  clients.push_back(std::make_unique<TestClient>(server->port()));
  clients.back()->send(request);
  ASSERT_TRUE(eventually([&] { return engine.submitted() == 16; }));
  TestClient second(server->port());
  second.send(request);
  ReadAnswer answer = second.read();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.field("Retry-After"), "1");
  EXPECT_EQ(errorOf(answer)["message"], "too many bytes of requests at once");
  EXPECT_EQ(engine.submitted(), 16u);
  clients.clear(); // gives back their bytes
  std::vector<std::unique_ptr<TestClient>> late;
  EXPECT_TRUE(eventually([&] {
    late.push_back(std::make_unique<TestClient>(server->port()));
    late.back()->send(request);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return engine.submitted() > 16;
  }));
}

TEST_F(ErrorsTest, TooLargeIs413InTheApisFormat) {
  options.maxBodyBytes = 1000;
  start();
  ReadAnswer answer =
      post("/v1/completions", {{"prompt", std::string(2000, 'x')}});
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(errorOf(answer)["type"], "invalid_request_error");
}

//===----------------------------------------------------------------------===//
// Clients that go, and requests that are aborted
//===----------------------------------------------------------------------===//

TEST_F(ErrorsTest, AClientThatGoesEndsItsRequests) {
  start();
  auto client = send("/v1/completions", {{"prompt", "p"}, {"n", 2}});
  ASSERT_TRUE(engine.wait(1));
  engine.tell(0, "ab");
  client->close();
  EXPECT_TRUE(eventually([&] { return engine.open() == 0; }));
  EXPECT_EQ(engine.finished(0), FinishReason::Cancelled);
  EXPECT_EQ(engine.finished(1), FinishReason::Cancelled);
  EXPECT_TRUE(becomes("sluice:client_disconnects_total", "1"));
  EXPECT_TRUE(becomes(cancelled, "2"));
}

TEST_F(ErrorsTest, AClientThatLeavesItsStreamEndsIt) {
  start();
  auto client = send("/v1/completions", streamed);
  ASSERT_TRUE(engine.wait(0));
  engine.tell(0, "ab");
  client->readUntil("\n\n");
  client->reset();
  EXPECT_TRUE(eventually([&] { return engine.open() == 0; }));
  EXPECT_EQ(engine.finished(0), FinishReason::Cancelled);
  EXPECT_TRUE(becomes("sluice:client_disconnects_total", "1"));
}

/// Its request never reaches the engine, and its place in the queue is free at
/// once.
TEST_F(ErrorsTest, AClientThatGoesBeforeItsRequestIsRead) {
  options.threads = 1;
  options.maxQueue = 2;
  start();
  auto largest = sendLargest();
  for (int i = 0; i < 4; ++i) {
    auto waiting = send("/v1/completions", large);
    waiting->close();
    EXPECT_TRUE(
        becomes("sluice:client_disconnects_total", std::to_string(i + 1)));
  }
  EXPECT_EQ(largest->read().status, 400); // it does not fit the context
  EXPECT_EQ(engine.submitted(), 0u);
  EXPECT_EQ(metric("sluice:requests_refused_total"), "0");
}

/// The requests wait behind another one; their time-outs also count before the
/// engine.
TEST_F(ErrorsTest, WhatWaitsToBeReadHasItsTimeOuts) {
  struct Case {
    double queue, request;
    int status;
    const char *code;
  };
  for (const Case &one : {Case{0.1, 0, 503, "queue_timeout"},
                          Case{0, 0.1, 504, "request_timeout"},
                          Case{0.1, 60, 503, "queue_timeout"}}) {
    options.queueTimeout = one.queue;
    options.requestTimeout = one.request;
    start();
    auto largest = sendLargest();
    auto waiting = send("/v1/completions", large);
    auto other = send("/tokenize", large);
    ReadAnswer answer = waiting->read();
    EXPECT_EQ(answer.status, one.status);
    EXPECT_EQ(errorOf(answer)["code"], one.code);
    EXPECT_EQ(answer.field("Retry-After"), one.status == 503 ? "1" : "");
    EXPECT_EQ(other->read().status, one.status);
    EXPECT_EQ(engine.submitted(), 0u);
    largest->close();
  }
}

TEST_F(ErrorsTest, AbortByTheIdOfTheAnswer) {
  start();
  auto client = send("/v1/completions", streamed);
  ASSERT_TRUE(engine.wait(0));
  engine.tell(0, "ab");
  std::string first = client->readUntil("\n\n");
  first = first.substr(first.find("data: ") + 6);
  json chunk = json::parse(first);
  ReadAnswer abort = post("/abort_request", {{"request_id", chunk["id"]}});
  EXPECT_EQ(abort.status, 200);
  std::string rest = client->readUntil("data: [DONE]\n\n");
  EXPECT_NE(rest.find("\"code\":\"request_aborted\""), rest.npos) << rest;
  EXPECT_EQ(engine.finished(0), FinishReason::Cancelled);
  EXPECT_TRUE(eventually([&] {
    return post("/abort_request", {{"request_id", chunk["id"]}}).status == 404;
  }));
}

TEST_F(ErrorsTest, AbortByTheClientsId) {
  start();
  auto client = send("/v1/completions", plain, "X-Request-Id: mine-1\r\n");
  ASSERT_TRUE(engine.wait(0));
  // The id is in use, so another request cannot have it.
  ReadAnswer second =
      post("/v1/completions", plain, "X-Request-Id: mine-1\r\n");
  EXPECT_EQ(second.status, 400);
  EXPECT_EQ(errorOf(second)["code"], "duplicate_request_id");
  EXPECT_EQ(post("/abort_request", {{"request_id", "mine-1"}}).status, 200);
  ReadAnswer answer = client->read();
  EXPECT_EQ(answer.status, 499);
  EXPECT_EQ(answer.field("X-Request-Id"), "mine-1");
  EXPECT_EQ(errorOf(answer)["code"], "request_aborted");
  EXPECT_TRUE(becomes(cancelled, "1"));
  // The request is over, so its id is free.
  engine.answerAll("ok");
  EXPECT_EQ(post("/v1/completions", plain, "X-Request-Id: mine-1\r\n").status,
            200);
}

TEST_F(ErrorsTest, AbortWhileTheRequestWaitsToBeRead) {
  options.threads = 1;
  start();
  auto largest = sendLargest();
  auto client = send("/v1/completions", large, "X-Request-Id: mine\r\n");
  ASSERT_TRUE(eventually([&] {
    return post("/abort_request", {{"request_id", "mine"}}).status == 200;
  }));
  EXPECT_EQ(client->read().status, 499);
  largest->close();
  EXPECT_EQ(engine.submitted(), 0u);
}

TEST_F(ErrorsTest, BadAbortsAreRefused) {
  start();
  for (const char *body : {"", "[]", R"({"request_id":5})", R"({"id":"x"})"})
    EXPECT_EQ(ask(http::test::post("/abort_request", body, jsonField)).status,
              400)
        << body;
  EXPECT_EQ(post("/abort_request", {{"request_id", "x"}}).status, 404);
  EXPECT_EQ(post("/v1/completions", plain, "X-Request-Id: a b\r\n").status,
            400);
  EXPECT_EQ(post("/v1/completions", plain,
                 "X-Request-Id: " + std::string(257, 'x') + "\r\n")
                .status,
            400);
}
