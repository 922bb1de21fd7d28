//===- CompletionsTest.cpp - answers as a whole ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/test/ServeFixture.h"

#include "runtime/pipeline/Clock.h"

using namespace sluice;
using namespace sluice::serve::test;

using CompletionsTest = ServeTest;

TEST_F(CompletionsTest, ACompletionHasItsTextAndUsage) {
  start();
  auto client = send("/v1/completions", {{"prompt", "Hello"},
                                         {"max_tokens", 7},
                                         {"temperature", 0.5},
                                         {"seed", 11}});
  ASSERT_TRUE(engine.wait(0));
  EXPECT_EQ(engine.promptOf(0), "Hello");
  EXPECT_EQ(engine.request(0).spec.maxTokens, 7);
  EXPECT_EQ(engine.request(0).spec.sampling.temperature, 0.5);
  EXPECT_EQ(engine.request(0).spec.sampling.seed, 11u);
  EXPECT_FALSE(engine.request(0).deadline);
  engine.tell(0, " world");
  engine.end(0, FinishReason::Length);

  ReadAnswer answer = client->read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("Content-Type"), "application/json");
  json body = bodyOf(answer);
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_EQ(body["model"], "demo");
  EXPECT_TRUE(body["id"].get<std::string>().starts_with("cmpl-"));
  EXPECT_EQ(body["choices"].size(), 1u);
  EXPECT_EQ(body["choices"][0]["text"], " world");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(body["usage"]["prompt_tokens"], 5);
  EXPECT_EQ(body["usage"]["completion_tokens"], 6);
  EXPECT_EQ(body["usage"]["total_tokens"], 11);
}

TEST_F(CompletionsTest, AChatGoesThroughTheTemplate) {
  engine.answerAll("Hi!");
  start();
  ReadAnswer answer =
      post("/v1/chat/completions",
           {{"messages", {{{"role", "user"}, {"content", "Hello"}}}}});
  EXPECT_EQ(answer.status, 200);
  json body = bodyOf(answer);
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_TRUE(body["id"].get<std::string>().starts_with("chatcmpl-"));
  EXPECT_EQ(body["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(body["choices"][0]["message"]["content"], "Hi!");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
  std::vector<int32_t> prompt = {257, 'H', 'e', 'l', 'l', 'o', 258};
  EXPECT_EQ(engine.request(0).spec.prompt, prompt);
}

TEST_F(CompletionsTest, ChoicesAndPromptsAreRequestsOfTheirOwn) {
  start();
  auto client = send("/v1/completions",
                     {{"prompt", {"one", "three"}}, {"n", 2}, {"seed", 5}});
  ASSERT_TRUE(engine.wait(3));
  EXPECT_EQ(engine.promptOf(1), "one");
  EXPECT_EQ(engine.promptOf(2), "three");
  EXPECT_EQ(engine.request(0).spec.sampling.seed, 5u);
  EXPECT_EQ(engine.request(1).spec.sampling.seed, 6u);
  for (size_t i : {2, 0, 3, 1}) {
    engine.tell(i, std::string(i + 1, static_cast<char>('a' + i)));
    engine.end(i, FinishReason::Stop);
  }
  json body = bodyOf(client->read());
  ASSERT_EQ(body["choices"].size(), 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(body["choices"][i]["index"], i);
    EXPECT_EQ(
        body["choices"][i]["text"],
        std::string(static_cast<size_t>(i) + 1, static_cast<char>('a' + i)));
  }
  EXPECT_EQ(body["usage"]["prompt_tokens"], 8);
  EXPECT_EQ(body["usage"]["completion_tokens"], 10);
  EXPECT_EQ(metric("sluice:prompt_tokens_total"), "8");
  EXPECT_EQ(metric("sluice:generation_tokens_total"), "10");
  EXPECT_EQ(metric("sluice:request_success_total{finished_reason=\"stop\"}"),
            "4");
}

/// The engine is told to stop, and its later tokens are dropped.
TEST_F(CompletionsTest, AStopStringEndsTheEnginesRequest) {
  start();
  auto client = send("/v1/completions", {{"prompt", "p"}, {"stop", {"END"}}});
  ASSERT_TRUE(engine.wait(0));
  engine.tell(0, "some text EN");
  engine.tell(0, "D and more");
  ReadAnswer answer = client->read();
  json body = bodyOf(answer);
  EXPECT_EQ(body["choices"][0]["text"], "some text ");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
  EXPECT_TRUE(http::test::eventually([&] { return engine.open() == 0; }));
  EXPECT_EQ(engine.finished(0), FinishReason::Stop);
  EXPECT_EQ(body["usage"]["completion_tokens"], 13);
}

TEST_F(CompletionsTest, LogProbabilitiesComeWithTheTokens) {
  start();
  auto client = send("/v1/completions", {{"prompt", "p"}, {"logprobs", 1}});
  ASSERT_TRUE(engine.wait(0));
  EXPECT_EQ(engine.request(0).spec.logProbabilities, 1);
  TokenEvent token;
  token.token = 'x';
  token.report = {{'x', -0.5F}, {'y', -1.5F}};
  engine.tell(0, token);
  engine.end(0, FinishReason::Stop);
  json logprobs = bodyOf(client->read())["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["tokens"], json({"x"}));
  EXPECT_EQ(logprobs["token_logprobs"][0], -0.5);
}

/// lm-eval asks in this way for the likelihood of a text.
TEST_F(CompletionsTest, EchoWithLogprobsSaysHowLikelyThePromptIs) {
  start();
  auto client = send(
      "/v1/completions",
      {{"prompt", "abc"}, {"echo", true}, {"logprobs", 1}, {"max_tokens", 1}});
  ASSERT_TRUE(engine.wait(0));
  EXPECT_TRUE(engine.request(0).spec.scoresPrompt);
  for (char letter : std::string("bcd")) {
    TokenEvent token;
    token.token = letter;
    token.report = {{letter, -0.5F}, {'x', -0.25F}};
    token.ofPrompt = letter != 'd';
    engine.tell(0, token);
  }
  engine.end(0, FinishReason::Length);
  json body = bodyOf(client->read());
  EXPECT_EQ(body["choices"][0]["text"], "abcd");
  json logprobs = body["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["tokens"], json({"a", "b", "c", "d"}));
  EXPECT_EQ(logprobs["token_logprobs"], json({nullptr, -0.5, -0.5, -0.5}));
  EXPECT_EQ(logprobs["top_logprobs"][0], nullptr);
  EXPECT_EQ(logprobs["top_logprobs"][1], json({{"b", -0.5}, {"x", -0.25}}));
  EXPECT_EQ(logprobs["text_offset"], json({0, 1, 2, 3}));
  EXPECT_EQ(body["usage"]["completion_tokens"], 1);
  EXPECT_EQ(metric("sluice:generation_tokens_total"), "1");
}

/// Cached tokens of each prompt are counted once, as all of its tokens are.
TEST_F(CompletionsTest, TheUsageHasWhatWasCached) {
  start();
  auto client = send("/v1/completions", {{"prompt", {"one", "two"}}, {"n", 2}});
  ASSERT_TRUE(engine.wait(3));
  for (size_t i = 0; i < 4; ++i) {
    RequestEnd end;
    end.cachedTokens = 2;
    end.waited = std::chrono::milliseconds(500);
    engine.tell(i, end);
  }
  json usage = bodyOf(client->read())["usage"];
  EXPECT_EQ(usage["prompt_tokens"], 6);
  EXPECT_EQ(usage["prompt_tokens_details"]["cached_tokens"], 4);
  EXPECT_EQ(metric("sluice:request_queue_time_seconds_count"), "4");
  EXPECT_EQ(metric("sluice:request_queue_time_seconds_sum"), "2");
}

TEST_F(CompletionsTest, DeadlinesCountFromTheArrival) {
  options.requestTimeout = 3;
  start();
  Time before = pipeline::now();
  auto client = send("/v1/completions", {{"prompt", "p"}});
  ASSERT_TRUE(engine.wait(0));
  ASSERT_TRUE(engine.request(0).deadline);
  EXPECT_GE(*engine.request(0).deadline, before + std::chrono::seconds(3));
  EXPECT_LE(*engine.request(0).deadline,
            pipeline::now() + std::chrono::seconds(3));
}

TEST_F(CompletionsTest, ConnectionsAreUsedAgain) {
  engine.answerAll("ok");
  start();
  TestClient client(server->port());
  for (int i = 0; i < 3; ++i) {
    client.send(
        http::test::post("/v1/completions", R"({"prompt":"p"})", jsonField));
    EXPECT_EQ(bodyOf(client.read())["choices"][0]["text"], "ok");
  }
}

TEST_F(CompletionsTest, EveryRequestHasAnIdOfItsOwn) {
  engine.answerAll("ok");
  start();
  json first = bodyOf(post("/v1/completions", {{"prompt", "p"}}));
  json second = bodyOf(post("/v1/completions", {{"prompt", "p"}}));
  EXPECT_NE(first["id"], second["id"]);
  // Without a seed, the seeds also differ.
  EXPECT_NE(engine.request(0).spec.sampling.seed,
            engine.request(1).spec.sampling.seed);
}

TEST_F(CompletionsTest, LatenciesAreMeasured) {
  start();
  auto client = send("/v1/completions", {{"prompt", "p"}});
  ASSERT_TRUE(engine.wait(0));
  engine.tell(0, "abc");
  engine.end(0, FinishReason::Stop);
  EXPECT_EQ(client->read().status, 200);
  EXPECT_EQ(metric("sluice:time_to_first_token_seconds_count"), "1");
  EXPECT_EQ(metric("sluice:inter_token_latency_seconds_count"), "2");
  EXPECT_EQ(metric("sluice:e2e_request_latency_seconds_count"), "1");
  EXPECT_EQ(metric("sluice:http_requests_total{code=\"200\"}"), "4");
}
