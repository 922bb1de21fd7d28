//===- CompletionsApiTest.cpp - the OpenAI API from a client's view -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/CompletionsApi.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::bench;
using nlohmann::json;

namespace {

BenchRequest someSpec() { return {3, Time(0), 4, 99, 0xFFFFFFFF80000005u}; }

TEST(CompletionsApiTest, Bodies) {
  ApiOptions api = {BenchEndpoint::Completions, "m\"1", 0.5};
  PromptShape prompt = {PromptForm::Tokens, 0, 100};
  json body = json::parse(requestBody(api, prompt, someSpec(), 0));
  EXPECT_EQ(body["model"], "m\"1");
  EXPECT_EQ(body["prompt"], json(promptTokens(prompt, someSpec(), 0)));
  EXPECT_EQ(body["prompt"].size(), 4u);
  EXPECT_EQ(body["max_tokens"], 99);
  EXPECT_EQ(body["ignore_eos"], true);
  EXPECT_EQ(body["temperature"], 0.5);
  EXPECT_EQ(body["seed"], 5); // 31 bits of the seed
  EXPECT_EQ(body["stream"], true);
  EXPECT_EQ(body["stream_options"], json({{"include_usage", true}}));
  prompt.form = PromptForm::Text;
  body = json::parse(requestBody(api, prompt, someSpec(), 0));
  EXPECT_EQ(body["prompt"], promptText(prompt, someSpec(), 0));
  api.endpoint = BenchEndpoint::Chat;
  body = json::parse(requestBody(api, prompt, someSpec(), 0));
  EXPECT_FALSE(body.contains("prompt"));
  EXPECT_EQ(body["messages"],
            json::array({{{"role", "user"},
                          {"content", promptText(prompt, someSpec(), 0)}}}));
}

struct Case {
  BenchEndpoint endpoint;
  const char *data;
  bool hasOutput, finished;
};

TEST(CompletionsApiTest, WhatCountsAsOutput) {
  const BenchEndpoint text = BenchEndpoint::Completions,
                      chat = BenchEndpoint::Chat;
  const Case cases[] = {
      {text, R"({"choices":[{"text":"a","finish_reason":null}]})", true, false},
      {text, R"({"choices":[{"text":"a"}]})", true, false},
      {text, R"({"choices":[{"text":""}]})", true, false},
      {text, R"({"choices":[{"text":"a","finish_reason":"length"}]})", true,
       true},
      {text, R"({"choices":[{"text":"","finish_reason":"stop"}]})", false,
       true},
      {text, R"({"choices":[]})", false, false},
      {text, R"({"choices":{}})", false, false},
      {text, R"({"choices":[5]})", false, false},
      {text, R"({"choices":[{"text":5}]})", false, false},
      {text, R"({})", false, false},
      {chat, R"({"choices":[{"delta":{"role":"assistant","content":""}}]})",
       false, false},
      {chat, R"({"choices":[{"delta":{"role":"assistant"}}]})", false, false},
      {chat, R"({"choices":[{"delta":{"content":"a"}}]})", true, false},
      {chat, R"({"choices":[{"delta":{"content":null,"reasoning":"a"}}]})",
       true, false},
      {chat, R"({"choices":[{"delta":{"reasoning_content":"a"}}]})", true,
       false},
      {chat, R"({"choices":[{"delta":{"tool_calls":[{"index":0}]}}]})", true,
       false},
      {chat, R"({"choices":[{"delta":{"tool_calls":[]}}]})", false, false},
      {chat, R"({"choices":[{"delta":{},"finish_reason":"stop"}]})", false,
       true},
      {chat, R"({"choices":[{"delta":7}]})", false, false}};
  for (const Case &each : cases) {
    Expected<StreamChunk> chunk = readChunk(each.data, each.endpoint);
    ASSERT_TRUE(chunk) << each.data;
    EXPECT_EQ(chunk->hasOutput, each.hasOutput) << each.data;
    EXPECT_EQ(chunk->finished, each.finished) << each.data;
    EXPECT_EQ(chunk->outputTokens, -1);
    EXPECT_EQ(chunk->error, "");
  }
}

TEST(CompletionsApiTest, Usage) {
  StreamChunk chunk = *readChunk(
      R"({"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":12}})",
      BenchEndpoint::Completions);
  EXPECT_EQ(chunk.promptTokens, 8);
  EXPECT_EQ(chunk.outputTokens, 12);
  for (const char *data :
       {R"({"usage":null})", R"({"usage":{"prompt_tokens":"8"}})",
        R"({"usage":[1]})", R"({"usage":{"prompt_tokens":1.5}})",
        R"({"usage":{"prompt_tokens":18446744073709551615}})"})
    EXPECT_EQ(readChunk(data, BenchEndpoint::Chat)->promptTokens, -1) << data;
}

TEST(CompletionsApiTest, Errors) {
  EXPECT_EQ(readChunk(R"({"error":{"message":"no room","code":500}})",
                      BenchEndpoint::Completions)
                ->error,
            "no room");
  EXPECT_EQ(readChunk(R"({"error":"no room"})", BenchEndpoint::Chat)->error,
            "no room");
  EXPECT_EQ(readChunk(R"({"error":{"code":5}})", BenchEndpoint::Chat)->error,
            R"({"code":5})");
  for (const char *data : {"", "x", "[1]", "5", "{", "{}}", "\xFF"}) {
    Expected<StreamChunk> chunk = readChunk(data, BenchEndpoint::Completions);
    ASSERT_FALSE(chunk) << data;
    EXPECT_EQ(chunk.status().message().find(
                  "an event's data is not a JSON object: '"),
              0u);
  }
}

TEST(CompletionsApiTest, MessagesOfErrorAnswers) {
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {R"({"error":{"message":"too\nlong","type":"x"}})", "too?long"},
      {R"({"error":"plain"})", "plain"},
      {R"({"object":"error","message":"old form","code":400})", "old form"},
      {R"({"detail":"Not Found"})", R"({"detail":"Not Found"})"},
      {"<html>\n502", "<html>?502"},
      {std::string(1000, 'x'), std::string(200, 'x')}};
  for (const auto &[body, message] : cases)
    EXPECT_EQ(errorMessage(body), message);
}

TEST(CompletionsApiTest, Models) {
  ModelEntry entry = *readModels(
      R"({"object":"list","data":[{"id":"tiny","meta":{"n_vocab":512}},
          {"id":"other"}]})");
  EXPECT_EQ(entry.id, "tiny");
  EXPECT_EQ(entry.vocabularySize, 512);
  EXPECT_EQ(readModels(R"({"data":[{"id":"m"}]})")->vocabularySize, 0);
  EXPECT_EQ(readModels(R"({"data":[{"id":"m","meta":{"n_vocab":-4}}]})")
                ->vocabularySize,
            0);
  for (const char *body : {R"({"data":[]})", R"({"data":[{"id":""}]})",
                           R"({"data":[{"id":5}]})", "{}"})
    EXPECT_EQ(readModels(body).status().message(),
              "the list of models has none");
  EXPECT_EQ(readModels("<html>").status().message(),
            "the list of models is not a JSON object");
}

} // namespace
