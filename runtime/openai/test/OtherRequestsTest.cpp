//===- OtherRequestsTest.cpp - embeddings, tokens, models -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestApiModel.h"
#include "runtime/openai/AnswerWriter.h"

using namespace sluice;
using namespace sluice::openai;
using namespace sluice::openai::test;

namespace {

class OtherRequestsTest : public testing::Test {
protected:
  std::string tokenize(const char *body) {
    ApiExpected<TokenizeRequest> request = parseTokenizeRequest(body, context);
    return request ? tokenizeJson(*request, model) : refusal(request);
  }
  std::string detokenize(const char *body) {
    ApiExpected<std::string> text = parseDetokenizeRequest(body, context);
    return text ? detokenizeJson(*text) : refusal(text);
  }

  Model model = makeModel();
  RequestContext context = {model};
};

TEST_F(OtherRequestsTest, TokenizesText) {
  EXPECT_EQ(tokenize(R"({"model": "tiny", "prompt": "ab"})"),
            R"({"count":2,"max_model_len":1000,"tokens":[97,98],)"
            R"("token_strs":null})");
  EXPECT_EQ(tokenize(R"({"prompt": " hello", "return_token_strs": true})"),
            "{\"count\":1,\"max_model_len\":1000,\"tokens\":[260],"
            "\"token_strs\":[\"Ġhello\"]}");
  EXPECT_EQ(tokenize(R"({"prompt": ""})"),
            R"({"count":0,"max_model_len":1000,"tokens":[],)"
            R"("token_strs":null})");
}

TEST_F(OtherRequestsTest, TokenizesWithAndWithoutSpecialTokens) {
  text::TokenizerSpec spec = testSpec().spec;
  spec.prefix = {1};
  Expected<Model> prefixed = Model::create({.names = {"m"},
                                            .tokenizer = text::test::make(spec),
                                            .vocabularySize = 267,
                                            .contextLength = 10});
  RequestContext with = {*prefixed};
  auto tokens = [&](const char *body) {
    return parseTokenizeRequest(body, with)->tokens;
  };
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(tokens(R"({"prompt": "a"})"), (Ids{1, 'a'}));
  EXPECT_EQ(tokens(R"({"prompt": "a", "add_special_tokens": false})"),
            (Ids{'a'}));
  // Such a model also takes completions.
  EXPECT_EQ(parsed(parseCompletionRequest(R"({"prompt": "a"})", with))
                .requests[0]
                .spec.prompt,
            (Ids{1, 'a'}));
  EXPECT_EQ(parsed(parseCompletionRequest(
                       R"({"prompt": "a", "add_special_tokens": false})", with))
                .requests[0]
                .spec.prompt,
            (Ids{'a'}));
}

TEST_F(OtherRequestsTest, TokenizesConversations) {
  ApiExpected<TokenizeRequest> request = parseTokenizeRequest(
      R"({"messages": [{"role": "user", "content": "Hi"}],
          "add_generation_prompt": false})",
      context);
  ASSERT_TRUE(request) << request.error().json();
  EXPECT_EQ(textOf(model, request->tokens), "<|im_start|>user\nHi<|im_end|>\n");
}

TEST_F(OtherRequestsTest, TokenizeIsChecked) {
  EXPECT_EQ(tokenize("{}"), "prompt: 'prompt' is missing");
  EXPECT_EQ(tokenize(R"({"prompt": ["a"]})"),
            "prompt: 'prompt' is an array, not a string");
  EXPECT_EQ(tokenize(R"({"prompt": "a", "messages": []})"),
            "messages: 'messages' and 'prompt' cannot both be given");
  EXPECT_EQ(tokenize(R"({"prompt": "a", "chat_template": "x"})"),
            "chat_template: 'chat_template' is not supported; the server's is "
            "used");
  EXPECT_EQ(tokenize(R"({"prompt": "a", "return_token_strs": 1})"),
            "return_token_strs: 'return_token_strs' is an integer, not a "
            "boolean");
  EXPECT_EQ(tokenize(R"({"prompt": "a", "model": "other"})"),
            "404 model: The model `other` does not exist.");
  EXPECT_EQ(tokenize("["), ": the body is not JSON: byte 2 is wrong");
}

TEST_F(OtherRequestsTest, Detokenizes) {
  EXPECT_EQ(detokenize(R"({"tokens": [97, 260]})"), R"({"prompt":"a hello"})");
  EXPECT_EQ(detokenize(R"({"tokens": []})"), R"({"prompt":""})");
  EXPECT_EQ(detokenize("{}"), "tokens: 'tokens' is missing");
  EXPECT_EQ(detokenize(R"({"tokens": "a"})"),
            "tokens: 'tokens' is a string, not an array");
  EXPECT_EQ(detokenize(R"({"tokens": [267]})"),
            "tokens[0]: 'tokens[0]' is 267, which is not in the vocabulary of "
            "267");
  EXPECT_EQ(detokenize(R"({"tokens": [1.5]})"),
            "tokens[0]: 'tokens[0]' is a number, not the id of a token");
}

TEST_F(OtherRequestsTest, EmbeddingsNeedAModelThatHasThem) {
  EXPECT_EQ(refusal(parseEmbeddingRequest(R"({"input": "a"})", context)),
            "model: the model `tiny` has no embeddings");
}

TEST_F(OtherRequestsTest, ReadsEmbeddingRequests) {
  Expected<Model> embedding =
      Model::create({.names = {"e"},
                     .tokenizer = text::test::make(testSpec().spec),
                     .vocabularySize = 267,
                     .contextLength = 3,
                     .embeddings = true});
  RequestContext with = {*embedding};
  ApiExpected<EmbeddingRequest> request = parseEmbeddingRequest(
      R"({"input": ["ab", "c"], "encoding_format": "base64", "user": "u"})",
      with);
  ASSERT_TRUE(request) << request.error().json();
  EXPECT_EQ(request->inputs,
            (std::vector<std::vector<int32_t>>{{'a', 'b'}, {'c'}}));
  EXPECT_EQ(request->promptTokens, 3);
  EXPECT_TRUE(request->base64);
  auto refuse = [&](const char *body) {
    return refusal(parseEmbeddingRequest(body, with));
  };
  EXPECT_EQ(refuse("{}"), "input: 'input' is missing");
  EXPECT_EQ(refuse(R"({"input": "abcd"})"),
            "input: This model's maximum context length is 3 tokens. However, "
            "your prompt has 4 tokens. Please reduce its length.");
  EXPECT_EQ(refuse(R"({"input": "abcd", "truncate_prompt_tokens": 3})"),
            "accepted");
  EXPECT_EQ(refuse(R"({"input": "a", "encoding_format": "hex"})"),
            "encoding_format: 'encoding_format' is 'hex', not float or base64");
  EXPECT_EQ(refuse(R"({"input": "a", "dimensions": 8})"),
            "dimensions: 'dimensions' is not supported");
}

TEST_F(OtherRequestsTest, ListsModels) {
  EXPECT_EQ(*modelJson(model, "alias"),
            R"({"id":"alias","object":"model","created":1700000000,)"
            R"("owned_by":"sluice","max_model_len":1000,)"
            R"("meta":{"n_vocab":267,"n_ctx":1000}})");
  ordered_json list = ordered_json::parse(modelListJson(model));
  EXPECT_EQ(list["object"], "list");
  ASSERT_EQ(list["data"].size(), 2u);
  EXPECT_EQ(list["data"][0]["id"], "tiny");
  EXPECT_EQ(list["data"][1].dump(), *modelJson(model, "alias"));
  EXPECT_EQ(refusal(modelJson(model, "x")),
            "404 model: The model `x` does not exist.");
}

} // namespace
