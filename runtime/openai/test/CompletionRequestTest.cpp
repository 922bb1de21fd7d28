//===- CompletionRequestTest.cpp - requests to /v1/completions ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestApiModel.h"

using namespace sluice;
using namespace sluice::openai;
using namespace sluice::openai::test;

namespace {

class CompletionRequestTest : public testing::Test {
protected:
  ApiExpected<GenerationRequest> parse(const std::string &extra,
                                       const char *base = plainCompletion) {
    return parseCompletionRequest(with(base, extra), context);
  }
  GenerationRequest accept(const std::string &extra,
                           const char *base = plainCompletion) {
    return parsed(parse(extra, base));
  }
  std::string refuse(const std::string &extra,
                     const char *base = plainCompletion) {
    return refusal(parse(extra, base));
  }

  Model model = makeModel();
  RequestContext context = {model, /*random=*/77};
};

TEST_F(CompletionRequestTest, HasOpenAIsDefaults) {
  GenerationRequest request = accept("{}");
  EXPECT_EQ(request.endpoint, Endpoint::Completions);
  EXPECT_EQ(request.model, "tiny");
  EXPECT_EQ(request.choices, 1);
  EXPECT_EQ(request.promptTokens, 1);
  EXPECT_FALSE(request.stream);
  EXPECT_FALSE(request.includeUsage);
  EXPECT_EQ(request.logprobs, -1);
  EXPECT_TRUE(request.stops.empty());
  EXPECT_TRUE(request.echo.empty());
  ASSERT_EQ(request.requests.size(), 1u);
  const ScheduledRequest &one = request.requests[0];
  EXPECT_EQ(one.spec.grammar.kind, GrammarSource::Kind::None);
  EXPECT_EQ(one.spec.prompt, idsOf(model, "hello"));
  EXPECT_EQ(one.spec.maxTokens, 16);
  EXPECT_EQ(one.spec.logProbabilities, -1);
  EXPECT_EQ(one.spec.stopTokens, model.tokenizer().spec().endOfText);
  EXPECT_EQ(one.priority, 0);
  EXPECT_FALSE(one.deadline.has_value());
  const SamplingParams &sampling = one.spec.sampling;
  EXPECT_EQ(sampling.temperature, 1);
  EXPECT_EQ(sampling.topP, 1);
  EXPECT_EQ(sampling.topK, 0);
  EXPECT_EQ(sampling.minP, 0);
  EXPECT_EQ(sampling.repetitionPenalty, 1);
  EXPECT_EQ(sampling.presencePenalty, 0);
  EXPECT_EQ(sampling.frequencyPenalty, 0);
  EXPECT_TRUE(sampling.logitBias.empty());
  EXPECT_EQ(sampling.seed, 77u);
}

/// The text never has its spelling, because special tokens are left out.
TEST_F(CompletionRequestTest, AStopTextThatIsASpecialTokenStopsAtTheToken) {
  GenerationRequest request =
      accept(R"({"stop": ["x", "<|im_end|>"], "ignore_eos": true})");
  EXPECT_EQ(request.requests[0].spec.stopTokens,
            std::vector<int32_t>{*model.tokenizer().tokenId("<|im_end|>")});
  EXPECT_EQ(request.stops.size(), 2u);
}

TEST_F(CompletionRequestTest, NullIsNotThere) {
  GenerationRequest request = accept(
      R"({"model": null, "max_tokens": null, "temperature": null, "n": null,
          "stop": null, "stream": null, "stream_options": null, "seed": null,
          "logprobs": null, "logit_bias": null, "suffix": null, "echo": null,
          "best_of": null, "user": null, "response_format": null})");
  EXPECT_EQ(request.requests[0].spec.maxTokens, 16);
  EXPECT_EQ(request.requests[0].spec.sampling.temperature, 1);
}

TEST_F(CompletionRequestTest, ReadsEveryField) {
  GenerationRequest request = accept(
      R"({"model": "alias", "max_tokens": 9, "temperature": 0.5, "top_p": 0.9,
          "top_k": 40, "min_p": 0.05, "n": 2, "stream": true,
          "stream_options": {"include_usage": true,
                             "continuous_usage_stats": true},
          "logprobs": 3, "stop": ["a", "b"], "stop_token_ids": [7],
          "presence_penalty": 1, "frequency_penalty": -1.5,
          "repetition_penalty": 1.1, "best_of": 2,
          "logit_bias": {"5": -100, "6": 2.5}, "user": "u", "seed": -3,
          "min_tokens": 0, "priority": -5, "skip_special_tokens": false})");
  EXPECT_EQ(request.model, "alias");
  EXPECT_TRUE(request.stream);
  EXPECT_TRUE(request.includeUsage);
  EXPECT_TRUE(request.continuousUsage);
  EXPECT_EQ(request.logprobs, 3);
  EXPECT_EQ(request.stops, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(request.skipSpecial);
  EXPECT_EQ(request.promptTokens, 1);
  ASSERT_EQ(request.requests.size(), 2u);
  const RequestSpec &spec = request.requests[1].spec;
  EXPECT_EQ(spec.maxTokens, 9);
  EXPECT_EQ(spec.logProbabilities, 3);
  EXPECT_EQ(spec.stopTokens.back(), 7);
  EXPECT_EQ(spec.stopTokens.size(), 3u);
  EXPECT_EQ(spec.sampling.temperature, 0.5);
  EXPECT_EQ(spec.sampling.topP, 0.9);
  EXPECT_EQ(spec.sampling.topK, 40);
  EXPECT_EQ(spec.sampling.minP, 0.05);
  EXPECT_EQ(spec.sampling.presencePenalty, 1);
  EXPECT_EQ(spec.sampling.frequencyPenalty, -1.5);
  EXPECT_EQ(spec.sampling.repetitionPenalty, 1.1);
  EXPECT_EQ(spec.sampling.logitBias,
            (std::map<int32_t, double>{{5, -100}, {6, 2.5}}));
  EXPECT_EQ(request.requests[1].priority, -5);
  // The seeds of choices count up from the request's.
  EXPECT_EQ(request.requests[0].spec.sampling.seed, uint64_t(-3));
  EXPECT_EQ(request.requests[1].spec.sampling.seed, uint64_t(-2));
}

TEST_F(CompletionRequestTest, PromptsHaveFourForms) {
  auto prompts = [&](const std::string &prompt) {
    std::vector<std::vector<int32_t>> out;
    GenerationRequest request = accept("{\"prompt\": " + prompt + "}");
    for (const ScheduledRequest &one : request.requests)
      out.push_back(one.spec.prompt);
    return out;
  };
  using Lists = std::vector<std::vector<int32_t>>;
  int32_t hello = idsOf(model, "hello")[0];
  EXPECT_EQ(prompts(R"("hello")"), (Lists{{hello}}));
  EXPECT_EQ(prompts(R"(["hello", "ab"])"), (Lists{{hello}, {'a', 'b'}}));
  EXPECT_EQ(prompts("[7, 8]"), (Lists{{7, 8}}));
  EXPECT_EQ(prompts("[7.0]"), (Lists{{7}}));
  EXPECT_EQ(prompts("[[7, 8], [9]]"), (Lists{{7, 8}, {9}}));
  EXPECT_EQ(prompts(R"(["a", [9]])"), (Lists{{'a'}, {9}}));
  // Spellings of special tokens in a text become these tokens.
  EXPECT_EQ(prompts(R"("<|im_start|>")"),
            (Lists{{*model.tokenizer().tokenId("<|im_start|>")}}));
}

TEST_F(CompletionRequestTest, PromptsAreChecked) {
  EXPECT_EQ(refusal(parseCompletionRequest("{}", context)),
            "prompt: 'prompt' is missing");
  EXPECT_EQ(refuse(R"({"prompt": []})"), "prompt: 'prompt' is empty");
  EXPECT_EQ(refuse(R"({"prompt": ""})"), "prompt: 'prompt' has no tokens");
  EXPECT_EQ(refuse(R"({"prompt": [[]]})"), "prompt: 'prompt' has no tokens");
  EXPECT_EQ(refuse(R"({"prompt": 3})"),
            "prompt: 'prompt' is an integer, not a string or an array of "
            "token ids");
  EXPECT_EQ(refuse(R"({"prompt": ["a", 3]})"),
            "prompt[1]: 'prompt[1]' is an integer, not a string or an array "
            "of token ids");
  EXPECT_EQ(refuse(R"({"prompt": [3, "a"]})"),
            "prompt[1]: 'prompt[1]' is a string, not the id of a token");
  EXPECT_EQ(refuse(R"({"prompt": [[1], [-1]]})"),
            "prompt[1][0]: 'prompt[1][0]' is -1, which is not in the "
            "vocabulary of 267");
  EXPECT_EQ(refuse(R"({"prompt": [99999]})"),
            "prompt[0]: 'prompt[0]' is 99999, which is not in the vocabulary "
            "of 267");
}

TEST_F(CompletionRequestTest, TheContextIsForPromptAndAnswer) {
  Model small = makeModel(chatml, 8);
  RequestContext tight = {small};
  auto parseIn = [&](const std::string &extra) {
    return parseCompletionRequest(with(R"({"prompt": [1,2,3,4,5,6]})", extra),
                                  tight);
  };
  // The default of 16 tokens is cut to the room.
  EXPECT_EQ(parsed(parseIn("{}")).requests[0].spec.maxTokens, 2);
  EXPECT_EQ(parsed(parseIn(R"({"max_tokens": 2})")).requests[0].spec.maxTokens,
            2);
  ApiExpected<GenerationRequest> tooMuch = parseIn(R"({"max_tokens": 3})");
  EXPECT_EQ(refusal(tooMuch),
            "max_tokens: This model's maximum context length is 8 tokens. "
            "However, you requested 9 tokens (6 in the prompt, 3 for the "
            "completion). Please reduce the length of either.");
  EXPECT_EQ(tooMuch.error().code, "context_length_exceeded");
  tooMuch = parseIn(R"({"prompt": [1,2,3,4,5,6,7,8,9]})");
  EXPECT_EQ(refusal(tooMuch),
            "prompt: This model's maximum context length is 8 tokens. "
            "However, your prompt has 9 tokens. Please reduce its length.");
  EXPECT_EQ(tooMuch.error().code, "context_length_exceeded");
  EXPECT_EQ(refusal(parseIn(R"({"prompt": [1,2,3,4,5,6,7,8]})")),
            "prompt: This model's maximum context length is 8 tokens. "
            "However, you requested 9 tokens (8 in the prompt, 1 for the "
            "completion). Please reduce the length of either.");
  EXPECT_EQ(parsed(parseIn(R"({"prompt": [1,2,3,4,5,6,7,8], "max_tokens": 0})"))
                .requests[0]
                .spec.maxTokens,
            0);
}

TEST_F(CompletionRequestTest, PromptsCanBeTruncated) {
  const char *base = R"({"prompt": [1,2,3,4,5]})";
  auto prompt = [&](const std::string &extra) {
    return accept(extra, base).requests[0].spec.prompt;
  };
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(prompt(R"({"truncate_prompt_tokens": 2})"), (Ids{4, 5}));
  EXPECT_EQ(prompt(R"({"truncate_prompt_tokens": 2, "truncation_side":
                       "right"})"),
            (Ids{1, 2}));
  EXPECT_EQ(prompt(R"({"truncate_prompt_tokens": 9})"), (Ids{1, 2, 3, 4, 5}));
  EXPECT_EQ(accept(R"({"truncate_prompt_tokens": 2})", base).promptTokens, 2);
  Model small = makeModel(chatml, 4);
  RequestContext tight = {small};
  EXPECT_EQ(refusal(parseCompletionRequest(
                with(base, R"({"truncate_prompt_tokens": 3})"), tight)),
            "accepted");
  // -1 leaves room for the requested answer.
  auto fitted = [&](const std::string &extra) {
    ordered_json body = ordered_json::parse(extra);
    body["truncate_prompt_tokens"] = -1;
    return parsed(parseCompletionRequest(with(base, body.dump()), tight))
        .requests[0]
        .spec;
  };
  EXPECT_EQ(fitted(R"({"max_tokens": 0})").prompt, (Ids{2, 3, 4, 5}));
  EXPECT_EQ(fitted(R"({"max_tokens": 2})").prompt, (Ids{4, 5}));
  EXPECT_EQ(fitted("{}").prompt, Ids{5});
  EXPECT_EQ(fitted("{}").maxTokens, 3);
  EXPECT_EQ(refuse(R"({"truncate_prompt_tokens": 0})"),
            "truncate_prompt_tokens: 'truncate_prompt_tokens' is 0, neither "
            "-1 nor at least 1");
  EXPECT_EQ(refuse(R"({"truncation_side": "middle"})"),
            "truncation_side: 'truncation_side' is neither left nor right");
}

TEST_F(CompletionRequestTest, ChoicesOfSeveralPromptsAreInOrder) {
  GenerationRequest request =
      accept(R"({"prompt": [[1], [2, 3]], "n": 2, "seed": 10})");
  ASSERT_EQ(request.requests.size(), 4u);
  EXPECT_EQ(request.promptTokens, 3);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(request.requests[i].spec.prompt.size(), i < 2 ? 1u : 2u);
    EXPECT_EQ(request.requests[i].spec.sampling.seed, 10 + i % 2);
  }
}

TEST_F(CompletionRequestTest, NumbersOfRequestsAreBounded) {
  context.limits.choices = 4;
  context.limits.prompts = 3;
  context.limits.requests = 6;
  EXPECT_EQ(refuse(R"({"n": 5})"), "n: 'n' is 5, more than 4");
  EXPECT_EQ(refuse(R"({"n": 0})"), "n: 'n' is 0, less than 1");
  EXPECT_EQ(refuse(R"({"prompt": ["a", "a", "a", "a"]})"),
            "prompt: 'prompt' has 4 prompts, more than 3");
  EXPECT_EQ(refuse(R"({"prompt": ["a", "a"], "n": 4})"),
            "n: 'n' is 4 for 2 prompts; together they can be 6 at most");
  context.limits.promptTokens = 7;
  EXPECT_EQ(refuse(R"({"prompt": [1, 2, 3, 4], "n": 2})"),
            "prompt: the prompts of all choices have more than 7 tokens");
  context.limits.promptLogprobs = 11;
  EXPECT_EQ(refuse(R"({"prompt": [1, 2], "echo": true, "logprobs": 5})"),
            "logprobs: 'logprobs' of the prompts of all choices would be more "
            "than 11");
  EXPECT_EQ(refuse(R"({"prompt": [1, 2], "echo": true, "logprobs": 4})"),
            "accepted");
}

TEST_F(CompletionRequestTest, EchoHasTheTextOfThePrompts) {
  EXPECT_EQ(accept(R"({"prompt": ["hello", "ab"], "echo": true})").echo,
            (std::vector<std::string>{"hello", "ab"}));
  EXPECT_EQ(accept(R"({"prompt": [104, 105], "echo": true})").echo,
            (std::vector<std::string>{"hi"}));
  // The echo is the truncated prompt.
  for (std::string side : {"left", "right"})
    EXPECT_EQ(accept(R"({"prompt": [104, 105, 106], "echo": true,
                         "truncate_prompt_tokens": 2, "truncation_side": ")" +
                     side + "\"}")
                  .echo,
              (std::vector<std::string>{side == "left" ? "ij" : "hi"}));
}

TEST_F(CompletionRequestTest, EchoWithLogprobsScoresThePrompts) {
  auto scores = [&](const char *body) {
    return accept(body).requests[0].spec.scoresPrompt;
  };
  EXPECT_TRUE(scores(R"({"echo": true, "logprobs": 0, "max_tokens": 0})"));
  EXPECT_TRUE(scores(R"({"echo": true, "logprobs": 3})"));
  EXPECT_FALSE(scores(R"({"echo": true})"));
  EXPECT_FALSE(scores(R"({"logprobs": 3})"));
}

TEST_F(CompletionRequestTest, RefusesOtherModels) {
  ApiExpected<GenerationRequest> other = parse(R"({"model": "gpt-4"})");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().status, 404);
  EXPECT_EQ(other.error().code, "model_not_found");
  EXPECT_EQ(other.error().param, "model");
  EXPECT_EQ(other.error().message, "The model `gpt-4` does not exist.");
  EXPECT_EQ(refuse(R"({"model": 3})"),
            "model: 'model' is an integer, not a string");
}

TEST_F(CompletionRequestTest, IgnoresTheEndOnRequest) {
  EXPECT_TRUE(
      accept(R"({"ignore_eos": true})").requests[0].spec.stopTokens.empty());
  EXPECT_EQ(accept(R"({"ignore_eos": true, "stop_token_ids": [3]})")
                .requests[0]
                .spec.stopTokens,
            std::vector<int32_t>{3});
  EXPECT_EQ(refuse(R"({"ignore_eos": true, "grammar": "root ::= \"a\""})"),
            "ignore_eos: 'ignore_eos' is not supported where the answer has a "
            "form to keep to");
}

TEST_F(CompletionRequestTest, BestOfIsTheNumberOfChoices) {
  EXPECT_EQ(refuse(R"({"best_of": 2})"),
            "best_of: 'best_of' is not supported where it is not 'n'");
  EXPECT_EQ(refuse(R"({"best_of": 3, "n": 3})"), "accepted");
}

TEST_F(CompletionRequestTest, WhatCannotFitTheContextIsRefusedByItsBytes) {
  const auto bytes = static_cast<size_t>(model.maxPromptBytes());
  const std::string body =
      R"({"prompt": ["a", ")" + std::string(bytes + 1, 'x') + "\"]}";
  EXPECT_EQ(refuse(body),
            "prompt[1]: This model's maximum context length is 1000 tokens. "
            "However, your prompt has " +
                std::to_string(bytes + 1) +
                " bytes. Please reduce its length.");
}

} // namespace
