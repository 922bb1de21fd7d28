//===- ModelTest.cpp - the API's view of the model ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestApiModel.h"
#include "runtime/openai/AnswerWriter.h"

#include <gmock/gmock.h>

using namespace sluice;
using namespace sluice::openai;
using namespace sluice::openai::test;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

TEST(ModelTest, IsChecked) {
  auto create = [](ModelOptions options) {
    return Model::create(std::move(options)).status().message();
  };
  text::Tokenizer tokenizer = text::test::make(testSpec().spec);
  EXPECT_EQ(create({.names = {}, .tokenizer = tokenizer}),
            "the model has no name to be served under");
  EXPECT_EQ(create({.names = {"m"}, .tokenizer = tokenizer}),
            "the model's vocabulary has 0 tokens, its context 0");
  std::string wrong = create({.names = {"m"},
                              .tokenizer = tokenizer,
                              .vocabularySize = 1,
                              .contextLength = 1,
                              .chatTemplate = "{% if"});
  EXPECT_TRUE(wrong.starts_with("chat template: ")) << wrong;
}

TEST(ModelTest, BytesOfTokens) {
  Model model = makeModel();
  EXPECT_EQ(model.tokenBytes(' '), " ");
  EXPECT_EQ(model.tokenBytes(0xC3), "\xC3"); // a part of a character
  EXPECT_EQ(model.tokenBytes(260), " hello");
  EXPECT_EQ(model.tokenBytes(*model.tokenizer().tokenId("<|im_end|>")),
            "<|im_end|>");
  EXPECT_EQ(model.tokenBytes(5000), "");
  // SentencePiece's spelling of spaces, and its byte tokens.
  text::test::SpecBuilder pieces =
      text::test::sentencePiece({{"▁a", -1}, {"b", -2}});
  int32_t a = pieces.find("▁a"), line = pieces.find("<0x0A>");
  Expected<Model> other =
      Model::create({.names = {"m"},
                     .tokenizer = text::test::make(pieces.spec),
                     .vocabularySize = 300,
                     .contextLength = 10});
  EXPECT_EQ(other->tokenBytes(a), " a");
  EXPECT_EQ(other->tokenBytes(pieces.find("b")), "b");
  EXPECT_EQ(other->tokenBytes(line), "\n");
  EXPECT_EQ(other->tokenBytes(pieces.find("<0xC3>")), "\xC3");
}

/// Returns a model whose tokenizer has these templates.
Model modelWith(const std::string &chats, const std::string &toolChats) {
  text::TokenizerSpec spec = testSpec().spec;
  spec.chatTemplate = chats;
  spec.toolTemplate = toolChats;
  return Model::create({.names = {"m"},
                        .tokenizer = text::test::make(spec),
                        .vocabularySize = 267,
                        .contextLength = 1000})
      .take();
}

std::string promptOf(const Model &model, const std::string &body) {
  RequestContext context = {model};
  ApiExpected<GenerationRequest> request = parseChatRequest(body, context);
  if (!request)
    return request.error().message;
  return textOf(model, request->requests[0].spec.prompt);
}

constexpr const char *plainChat =
    R"({"messages": [{"role": "user", "content": "x"}]})";
constexpr const char *toolChat =
    R"({"messages": [{"role": "user", "content": "x"}],
        "tools": [{"type": "function", "function": {"name": "f"}}]})";

TEST(ModelTest, ATemplateForToolsIsUsedWhereThereAreSome) {
  Model model = modelWith("plain", "{{ tools[0].function.name }}<tool_call>");
  EXPECT_EQ(promptOf(model, plainChat), "plain");
  EXPECT_EQ(promptOf(model, toolChat), "f<tool_call>");
  std::string none(toolChat);
  none.insert(1, "\"tool_choice\": \"none\", ");
  EXPECT_EQ(promptOf(model, none), "plain");
}

TEST(ModelTest, OneTemplateIsForAll) {
  Model model =
      modelWith("{{ tools[0].function.name if tools }}<tool_call>", "");
  EXPECT_EQ(promptOf(model, plainChat), "<tool_call>");
  EXPECT_EQ(promptOf(model, toolChat), "f<tool_call>");
}

TEST(ModelTest, AGivenTemplateReplacesBoth) {
  text::TokenizerSpec spec = testSpec().spec;
  spec.chatTemplate = "a";
  spec.toolTemplate = "b";
  Model model = Model::create({.names = {"m"},
                               .tokenizer = text::test::make(spec),
                               .vocabularySize = 267,
                               .contextLength = 1000,
                               .chatTemplate = "{# tools <tool_call> #}c"})
                    .take();
  EXPECT_EQ(promptOf(model, plainChat), "c");
  EXPECT_EQ(promptOf(model, toolChat), "c");
}

TEST(ModelTest, AModelWithoutAUsableTemplateSaysWhyItHasNoChats) {
  Model model = modelWith("{% do x %}", "");
  EXPECT_THAT(model.warnings(),
              ElementsAre("chats are refused: chat template: line 1, column 4: "
                          "statement 'do' is not supported"));
  constexpr const char *why =
      "this model's chat template cannot be used: chat template: line 1, "
      "column 4: statement 'do' is not supported; use /v1/completions";
  EXPECT_EQ(promptOf(model, plainChat), why);
  EXPECT_EQ(promptOf(model, toolChat), why);
  RequestContext context = {model};
  EXPECT_TRUE(parseCompletionRequest(R"({"prompt": "a"})", context));
}

TEST(ModelTest, OneUsableTemplateOfTwoIsUsed) {
  Model model = modelWith("plain", "{% do x %}");
  EXPECT_EQ(promptOf(model, plainChat), "plain");
  EXPECT_TRUE(promptOf(model, toolChat)
                  .starts_with("this model's chat template cannot be used"));
  EXPECT_THAT(model.warnings(), testing::SizeIs(1));
}

TEST(ModelTest, WhatNobodyReachesDoesNotMatter) {
  Model model =
      modelWith("{% for m in messages %}{% if m.tool_calls %}"
                "{{ m.tool_calls | from_json }}{% endif %}{{ m.content }}"
                "{% endfor %}",
                "");
  EXPECT_THAT(model.warnings(), IsEmpty());
  EXPECT_EQ(promptOf(model, plainChat), "x");
  EXPECT_EQ(promptOf(model, R"({"messages": [
      {"role": "user", "content": "x"},
      {"role": "assistant", "tool_calls": [{"id": "c", "type": "function",
       "function": {"name": "f", "arguments": "{}"}}]}]})"),
            "chat template: line 1, column 63: filter 'from_json' is not "
            "supported");
}

class NoTokenizerTest : public testing::Test {
protected:
  std::string refusal(const std::string &body) {
    ApiExpected<GenerationRequest> request =
        parseCompletionRequest(body, context);
    return request ? ""
                   : request.error().param + ": " + request.error().message;
  }

  Model model = Model::create({.names = {"m"},
                               .tokenizer = text::Tokenizer::none(),
                               .vocabularySize = 100,
                               .contextLength = 50})
                    .take();
  RequestContext context = {model};
};

TEST_F(NoTokenizerTest, TakesAndGivesIds) {
  ApiExpected<GenerationRequest> request =
      parseCompletionRequest(R"({"prompt": [5, 6], "logprobs": 1})", context);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_THAT(request->requests[0].spec.prompt, ElementsAre(5, 6));
  ChoiceText text(*request, model, 0);
  ChoiceAnswer answer;
  TokenLogProbability report[] = {{7, -0.5F}, {8, -1}};
  answer.all = text.push(7, report);
  answer.all.append(text.finish());
  AnswerWriter writer(*request, model, "id", 1);
  ordered_json choice =
      ordered_json::parse(writer.answer({&answer, 1}, {}))["choices"][0];
  EXPECT_EQ(choice["text"], "");
  EXPECT_EQ(choice["token_ids"].dump(), "[7]");
  EXPECT_EQ(choice["prompt_token_ids"].dump(), "[5,6]");
  EXPECT_EQ(choice["logprobs"]["tokens"].dump(), R"(["token_id:7"])");
}

TEST_F(NoTokenizerTest, RefusesTexts) {
  EXPECT_EQ(refusal(R"({"prompt": "a"})"),
            "prompt: 'prompt': this model has no tokenizer; give token ids");
  EXPECT_EQ(refusal(R"({"prompt": [1], "stop": "a"})"),
            "stop: 'stop' is not supported: this model has no tokenizer; use "
            "'stop_token_ids'");
  EXPECT_EQ(refusal(R"({"prompt": [1], "grammar": "root ::= \"a\""})"),
            "prompt: this model has no tokenizer, so that its answers cannot "
            "be held to a form");
  EXPECT_EQ(promptOf(model, plainChat),
            "this model has no tokenizer; give token ids to /v1/completions");
  EXPECT_EQ(parseTokenizeRequest(R"({"prompt": "a"})", context).error().message,
            "'prompt': this model has no tokenizer; give token ids");
  EXPECT_EQ(
      parseDetokenizeRequest(R"({"tokens": [1]})", context).error().message,
      "'tokens' have no text: this model has no tokenizer");
}

} // namespace
