//===- FieldsTest.cpp - types, ranges and refused fields ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestApiModel.h"
#include "runtime/openai/Parameters.h"

#include <set>

using namespace sluice;
using namespace sluice::openai;
using namespace sluice::openai::test;

namespace {

class FieldsTest : public testing::Test {
protected:
  std::string complete(const std::string &extra) {
    return refusal(
        parseCompletionRequest(with(plainCompletion, extra), context));
  }
  std::string chat(const std::string &extra) {
    return refusal(parseChatRequest(with(plainChat, extra), context));
  }
  SamplingParams sampling(const std::string &extra) {
    return parsed(parseCompletionRequest(with(plainCompletion, extra), context))
        .requests[0]
        .spec.sampling;
  }

  Model model = makeModel();
  RequestContext context = {model};
};

struct Wrong {
  const char *extra;
  const char *refusal;
};

// Both endpoints read these fields in the same way.
const Wrong wrongFields[] = {
    {R"({"temperature": "0.7"})",
     "temperature: 'temperature' is a string, not a number"},
    {R"({"temperature": true})",
     "temperature: 'temperature' is a boolean, not a number"},
    {R"({"temperature": -0.1})",
     "temperature: temperature is -0.1, not a number of at least 0"},
    {R"({"top_p": -0.5})", "top_p: top_p is -0.5, not in (0, 1]"},
    {R"({"top_p": 1.5})", "top_p: top_p is 1.5, not in (0, 1]"},
    {R"({"top_p": [1]})", "top_p: 'top_p' is an array, not a number"},
    {R"({"top_k": -2})", "top_k: 'top_k' is -2, less than -1"},
    {R"({"top_k": 1.5})", "top_k: 'top_k' is 1.5, not an integer of 64 bits"},
    {R"({"top_k": 3000000000})",
     "top_k: 'top_k' is 3000000000, more than 2147483647"},
    {R"({"min_p": 1.1})", "min_p: min_p is 1.1, not in [0, 1]"},
    {R"({"repetition_penalty": 0})",
     "repetition_penalty: repetition_penalty is 0, not in [0.001, 1000]"},
    {R"({"presence_penalty": 2.1})",
     "presence_penalty: presence_penalty is 2.1, not in [-2, 2]"},
    {R"({"frequency_penalty": -3})",
     "frequency_penalty: frequency_penalty is -3, not in [-2, 2]"},
    {R"({"n": "2"})", "n: 'n' is a string, not an integer"},
    {R"({"n": 129})", "n: 'n' is 129, more than 128"},
    {R"({"seed": 1.5})", "seed: 'seed' is 1.5, not an integer of 64 bits"},
    {R"({"seed": 9223372036854775808})",
     "seed: 'seed' is 9223372036854775808, not an integer of 64 bits"},
    {R"({"seed": 1e300})", "seed: 'seed' is 1e+300, not an integer of 64 bits"},
    {R"({"priority": 1001})", "priority: 'priority' is 1001, more than 1000"},
    {R"({"stream": 1})", "stream: 'stream' is an integer, not a boolean"},
    {R"({"stream_options": {"include_usage": true}})",
     "stream_options: 'stream_options' is only allowed where 'stream' is true"},
    {R"({"stream": true, "stream_options": []})",
     "stream_options: 'stream_options' is an array, not an object"},
    {R"({"stream": true, "stream_options": {"include_usage": 1}})",
     "stream_options.include_usage: 'stream_options.include_usage' is an "
     "integer, not a boolean"},
    {R"({"stop": 3})",
     "stop: 'stop' is an integer, not a string or an array of strings"},
    {R"({"stop": ["a", 3]})",
     "stop: 'stop' has an integer in it, not a string"},
    {R"({"stop": ""})", "stop: 'stop' has an empty string"},
    {R"({"stop": ["1","2","3","4","5","6","7","8","9","10","11","12","13",
         "14","15","16","17"]})",
     "stop: 'stop' has 17 strings, more than 16"},
    {R"({"stop_token_ids": 3})",
     "stop_token_ids: 'stop_token_ids' is an integer, not an array"},
    {R"({"stop_token_ids": ["a"]})",
     "stop_token_ids: 'stop_token_ids' has \"a\" in it, not an id below 267"},
    {R"({"stop_token_ids": [-1]})",
     "stop_token_ids: 'stop_token_ids' has -1 in it, not an id below 267"},
    {R"({"logit_bias": []})",
     "logit_bias: 'logit_bias' is an array, not an object"},
    {R"({"logit_bias": {"hello": 1}})",
     "logit_bias: 'logit_bias' has the token 'hello', which is not an id below "
     "267"},
    {R"({"logit_bias": {"1 ": 1}})",
     "logit_bias: 'logit_bias' has the token '1 ', which is not an id below "
     "267"},
    {R"({"logit_bias": {"5000": 1}})",
     "logit_bias: 'logit_bias' has the token '5000', which is not an id below "
     "267"},
    {R"({"logit_bias": {"5": 101}})",
     "logit_bias: 'logit_bias' has a bias of token 5 that is not a number in "
     "[-100, 100]"},
    {R"({"logit_bias": {"5": null}})",
     "logit_bias: 'logit_bias' has a bias of token 5 that is not a number in "
     "[-100, 100]"},
    {R"({"ignore_eos": "yes"})",
     "ignore_eos: 'ignore_eos' is a string, not a boolean"},
    {R"({"skip_special_tokens": 0})",
     "skip_special_tokens: 'skip_special_tokens' is an integer, not a boolean"},
    {R"({"add_special_tokens": 0})",
     "add_special_tokens: 'add_special_tokens' is an integer, not a boolean"},
    {R"({"max_tokens": -1})", nullptr},
};

TEST_F(FieldsTest, WrongValuesAreRefusedByName) {
  ASSERT_EQ(model.vocabularySize(), 267);
  for (const Wrong &wrong : wrongFields) {
    if (!wrong.refusal)
      continue;
    EXPECT_EQ(complete(wrong.extra), wrong.refusal) << wrong.extra;
    EXPECT_EQ(chat(wrong.extra), wrong.refusal) << wrong.extra;
  }
  EXPECT_EQ(complete(R"({"max_tokens": -1})"),
            "max_tokens: 'max_tokens' is -1, less than 0");
  EXPECT_EQ(chat(R"({"max_tokens": 0})"),
            "max_tokens: 'max_tokens' is 0, less than 1");
  EXPECT_EQ(complete(R"({"logprobs": 21})"),
            "logprobs: 'logprobs' is 21, more than 20");
  EXPECT_EQ(complete(R"({"logprobs": true})"),
            "logprobs: 'logprobs' is a boolean, not an integer");
  EXPECT_EQ(chat(R"({"logprobs": 3})"),
            "logprobs: 'logprobs' is an integer, not a boolean");
  EXPECT_EQ(chat(R"({"logprobs": true, "top_logprobs": 21})"),
            "top_logprobs: 'top_logprobs' is 21, more than 20");
  EXPECT_EQ(chat(R"({"top_logprobs": 2})"),
            "top_logprobs: 'top_logprobs' needs 'logprobs' to be true");
}

TEST_F(FieldsTest, ListsAreBounded) {
  context.limits.stopBytes = 3;
  EXPECT_EQ(complete(R"({"stop": "abcd"})"),
            "stop: 'stop' has a string of 4 bytes, more than 3");
  context.limits.stopBytes = 5000; // above the matcher's own limit
  EXPECT_EQ(complete("{\"stop\": \"" + std::string(4097, 'x') + "\"}"),
            "stop: stop: a string of 4097 bytes is longer than 4096");
  context.limits.biases = 1;
  EXPECT_EQ(complete(R"({"logit_bias": {"1": 1, "2": 1}})"),
            "logit_bias: 'logit_bias' has 2 tokens, more than 1");
  context.limits.stopTokens = 1;
  EXPECT_EQ(complete(R"({"stop_token_ids": [1, 2]})"),
            "stop_token_ids: 'stop_token_ids' has 2 tokens, more than 1");
}

TEST_F(FieldsTest, EdgesOfRangesAreAccepted) {
  EXPECT_EQ(sampling(R"({"temperature": 0})").temperature, 0);
  // A tiny temperature counts as 0, which is greedy.
  EXPECT_TRUE(sampling(R"({"temperature": 1e-8})").greedy());
  EXPECT_EQ(sampling(R"({"temperature": 2})").temperature, 2);
  EXPECT_EQ(sampling(R"({"temperature": 5.5})").temperature, 5.5);
  // OpenAI's lower limit gives only the most probable token.
  double topP = sampling(R"({"top_p": 0})").topP;
  EXPECT_GT(topP, 0);
  EXPECT_LT(topP, 1e-300);
  EXPECT_EQ(sampling(R"({"top_k": -1})").topK, -1);
  EXPECT_EQ(sampling(R"({"top_k": 2.0})").topK, 2);
  EXPECT_EQ(sampling(R"({"min_p": 1})").minP, 1);
  EXPECT_EQ(sampling(R"({"presence_penalty": -2})").presencePenalty, -2);
  EXPECT_EQ(sampling(R"({"seed": 9223372036854775807})").seed,
            uint64_t(INT64_MAX));
  EXPECT_EQ(sampling(R"({"seed": -9223372036854775808})").seed, uint64_t(1)
                                                                    << 63);
}

/// repeat_last_n is llama.cpp's; it has no effect without penalties.
TEST_F(FieldsTest, PenaltiesCountAllTokens) {
  EXPECT_EQ(complete(R"({"repeat_last_n": 64})"), "accepted");
  EXPECT_EQ(complete(R"({"repeat_last_n": -1, "presence_penalty": 1})"),
            "accepted");
  EXPECT_EQ(complete(R"({"repeat_last_n": 64, "presence_penalty": 1})"),
            "repeat_last_n: 'repeat_last_n' is not supported with penalties, "
            "which count all tokens here, but as -1");
}

TEST_F(FieldsTest, WhatWouldChangeTheAnswerIsRefusedByName) {
  for (const RefusedParameter &parameter : refusedParameters()) {
    std::string name(parameter.name);
    std::string extra = "{\"" + name + "\": \"something\"}";
    std::string start = name + ": '" + name + "' is not supported";
    bool isChat = parameter.where != RefusedParameter::Where::Completions;
    bool isText = parameter.where != RefusedParameter::Where::Chat;
    if (isChat)
      EXPECT_TRUE(chat(extra).starts_with(start)) << chat(extra);
    if (isText)
      EXPECT_TRUE(complete(extra).starts_with(start)) << complete(extra);
    // A value that changes nothing counts as a missing field.
    std::string neutral(parameter.neutral);
    neutral += neutral.empty() ? "null" : "|null";
    for (size_t at = 0; at < neutral.size();) {
      size_t end = std::min(neutral.find('|', at), neutral.size());
      extra = "{\"" + name + "\": " + neutral.substr(at, end - at) + "}";
      if (isChat)
        EXPECT_EQ(chat(extra), "accepted") << extra;
      if (isText)
        EXPECT_EQ(complete(extra), "accepted") << extra;
      at = end + 1;
    }
  }
}

TEST_F(FieldsTest, RefusalsHaveACodeAndAHint) {
  ApiExpected<GenerationRequest> request = parseCompletionRequest(
      with(plainCompletion, R"({"suffix": "end"})"), context);
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().code, "unsupported_parameter");
  EXPECT_EQ(request.error().message,
            "'suffix' is not supported; put it into the prompt");
  EXPECT_EQ(chat(R"({"modalities": ["text", "audio"]})"),
            "modalities: 'modalities' is not supported");
  EXPECT_EQ(complete(R"({"min_tokens": 5})"),
            "min_tokens: 'min_tokens' is not supported");
  EXPECT_EQ(complete(R"({"mirostat": 2})"),
            "mirostat: 'mirostat' is not supported");
}

TEST_F(FieldsTest, HarmlessAndUnknownFieldsAreAccepted) {
  for (std::string_view name : harmlessParameters()) {
    std::string extra = "{\"" + std::string(name) + "\": [\"x\"]}";
    EXPECT_EQ(complete(extra), "accepted") << extra;
    EXPECT_EQ(chat(extra), "accepted") << extra;
  }
  EXPECT_EQ(complete(R"({"some_new_field": {"a": 1}})"), "accepted");
}

TEST_F(FieldsTest, TheTablesHaveNoNameTwice) {
  std::set<std::string_view> names;
  for (const RefusedParameter &parameter : refusedParameters())
    EXPECT_TRUE(names.insert(parameter.name).second) << parameter.name;
  for (std::string_view name : harmlessParameters())
    EXPECT_TRUE(names.insert(name).second) << name;
}

} // namespace
