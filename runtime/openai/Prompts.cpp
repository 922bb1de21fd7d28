//===- Prompts.cpp - prompts, and the requests made of them ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/Prompts.h"

using namespace sluice;
using namespace sluice::openai;

ApiExpected<TokenIds> openai::encodeText(const Model &model,
                                         std::string_view text, bool addSpecial,
                                         const std::string &path,
                                         std::span<const size_t> literal) {
  Expected<TokenIds> ids = model.tokenizer().encode(
      text, addSpecial, /*parseSpecial=*/true, literal);
  if (!ids)
    return invalidField(path, "'" + path + "': " + ids.status().message());
  return ids.take();
}

ApiStatus openai::checkBytes(std::string_view text, const Lengths &lengths,
                             const Model &model, const std::string &path) {
  if (lengths.promptTokens || std::ssize(text) <= model.maxPromptBytes())
    return std::nullopt;
  return invalidField(path,
                      "This model's maximum context length is " +
                          std::to_string(model.contextLength()) +
                          " tokens. However, your prompt has " +
                          std::to_string(text.size()) +
                          " bytes. Please reduce its length.",
                      "context_length_exceeded");
}

ApiExpected<TokenIds> openai::readIds(const ordered_json &ids,
                                      const Model &model,
                                      const std::string &path) {
  TokenIds tokens;
  tokens.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    std::optional<int64_t> id = integerOf(ids[i]);
    std::string place = path + "[" + std::to_string(i) + "]";
    if (!id)
      return invalidField(place, "'" + place + "' is " +
                                     std::string(typeName(ids[i])) +
                                     ", not the id of a token");
    if (*id < 0 || *id >= model.vocabularySize())
      return invalidField(place, "'" + place + "' is " + std::to_string(*id) +
                                     ", which is not in the vocabulary of " +
                                     std::to_string(model.vocabularySize()));
    tokens.push_back(static_cast<int32_t>(*id));
  }
  return tokens;
}

static ApiExpected<Prompt> readPrompt(const ordered_json &value,
                                      const std::string &path,
                                      const Model &model,
                                      const Lengths &lengths, bool addSpecial,
                                      bool wantsText) {
  Prompt prompt;
  if (value.is_string()) {
    const auto &text = value.get_ref<const std::string &>();
    if (ApiStatus wrong = checkBytes(text, lengths, model, path))
      return *wrong;
    ApiExpected<TokenIds> tokens = encodeText(model, text, addSpecial, path);
    if (!tokens)
      return tokens.error();
    prompt.tokens = tokens.take();
    if (wantsText)
      prompt.text = text;
    return prompt;
  }
  if (!value.is_array())
    return invalidField(path, "'" + path + "' is " +
                                  std::string(typeName(value)) +
                                  ", not a string or an array of token ids");
  ApiExpected<TokenIds> tokens = readIds(value, model, path);
  if (!tokens)
    return tokens.error();
  prompt.tokens = tokens.take();
  if (wantsText)
    prompt.text = model.tokenizer().decode(prompt.tokens);
  return prompt;
}

ApiExpected<std::vector<Prompt>>
openai::readPrompts(const ordered_json &body, std::string_view name,
                    const RequestContext &context, const Lengths &lengths,
                    bool addSpecial, bool wantsText) {
  std::string path(name);
  auto value = body.find(name);
  if (value == body.end() || value->is_null())
    return invalidField(path, "'" + path + "' is missing");
  if (value->is_array() && value->empty())
    return invalidField(path, "'" + path + "' is empty");
  bool isOne = !value->is_array() || (*value)[0].is_number();
  if (!isOne && std::ssize(*value) > context.limits.prompts)
    return invalidField(path, "'" + path + "' has " +
                                  std::to_string(value->size()) +
                                  " prompts, more than " +
                                  std::to_string(context.limits.prompts));
  std::vector<Prompt> prompts;
  for (size_t i = 0; i < (isOne ? 1 : value->size()); ++i) {
    ApiExpected<Prompt> prompt =
        readPrompt(isOne ? *value : (*value)[i],
                   isOne ? path : path + "[" + std::to_string(i) + "]",
                   context.model, lengths, addSpecial, wantsText);
    if (!prompt)
      return prompt.error();
    prompts.push_back(prompt.take());
  }
  return prompts;
}

void openai::readTruncation(FieldReader &fields, Lengths &lengths) {
  fields.integer("truncate_prompt_tokens", lengths.promptTokens, -1, INT64_MAX);
  if (lengths.promptTokens == 0)
    fields.fail("truncate_prompt_tokens", "is 0, neither -1 nor at least 1");
  std::string side = "left";
  fields.text("truncation_side", side);
  if (side != "left" && side != "right")
    fields.fail("truncation_side", "is neither left nor right");
  lengths.keepsFirst = side == "right";
}

/// Returns how many tokens a prompt keeps if it leaves room for the answer: the
/// largest length of the answer, or one token if that is not given.
static int64_t besideAnswer(const Lengths &lengths, const Model &model) {
  const int64_t answer =
      lengths.maxTokens.value_or(lengths.defaultMaxTokens.value_or(1));
  return std::max<int64_t>(1, model.contextLength() - answer);
}

static void truncate(TokenIds &tokens, const Lengths &lengths,
                     const Model &model) {
  if (!lengths.promptTokens)
    return;
  const int64_t kept = *lengths.promptTokens >= 0
                           ? *lengths.promptTokens
                           : besideAnswer(lengths, model);
  if (std::ssize(tokens) <= kept)
    return;
  if (lengths.keepsFirst)
    tokens.resize(static_cast<size_t>(kept));
  else
    tokens.erase(tokens.begin(), tokens.end() - kept);
}

static ApiError tooLong(int64_t context, int64_t prompt,
                        std::optional<int64_t> answer,
                        const std::string &param) {
  std::string message = "This model's maximum context length is " +
                        std::to_string(context) + " tokens. However, ";
  if (answer)
    message += "you requested " + std::to_string(prompt + *answer) +
               " tokens (" + std::to_string(prompt) + " in the prompt, " +
               std::to_string(*answer) +
               " for the completion). Please reduce the length of either.";
  else
    message += "your prompt has " + std::to_string(prompt) +
               " tokens. Please reduce its length.";
  return invalidField(param, std::move(message), "context_length_exceeded");
}

ApiStatus openai::fitPrompt(TokenIds &tokens, const Lengths &lengths,
                            const Model &model, const std::string &path) {
  if (tokens.empty())
    return invalidField(path, "'" + path + "' has no tokens");
  truncate(tokens, lengths, model);
  if (std::ssize(tokens) > model.contextLength())
    return tooLong(model.contextLength(), std::ssize(tokens), std::nullopt,
                   path);
  for (int32_t token : tokens)
    if (token >= model.vocabularySize())
      return invalidField(path,
                          "'" + path + "' has the text '" +
                              std::string(model.tokenizer().tokenText(token)) +
                              "', whose token " + std::to_string(token) +
                              " is not among the model's " +
                              std::to_string(model.vocabularySize()));
  return std::nullopt;
}

/// Returns how many tokens the answer to a prompt may have.
static ApiExpected<int64_t> maxTokensFor(int64_t prompt, const Lengths &lengths,
                                         const Model &model,
                                         const std::string &path) {
  int64_t room = model.contextLength() - prompt;
  if (room < 1 && lengths.maxTokens != 0)
    return tooLong(model.contextLength(), prompt, lengths.maxTokens.value_or(1),
                   path);
  if (lengths.maxTokens && *lengths.maxTokens > room)
    return tooLong(model.contextLength(), prompt, lengths.maxTokens,
                   lengths.maxTokensName);
  return std::min(room, lengths.maxTokens.value_or(
                            lengths.defaultMaxTokens.value_or(room)));
}

ApiStatus openai::addRequests(std::vector<Prompt> prompts,
                              const CommonFields &common,
                              const Lengths &lengths,
                              const RequestContext &context,
                              GenerationRequest &request) {
  const RequestLimits &limits = context.limits;
  const std::string path =
      request.endpoint == Endpoint::Chat ? "messages" : "prompt";
  if (std::ssize(prompts) * request.choices > limits.requests)
    return invalidField("n", "'n' is " + std::to_string(request.choices) +
                                 " for " + std::to_string(prompts.size()) +
                                 " prompts; together they can be " +
                                 std::to_string(limits.requests) + " at most");
  for (size_t i = 0; i < prompts.size(); ++i) {
    Prompt &prompt = prompts[i];
    size_t given = prompt.tokens.size();
    if (ApiStatus wrong =
            fitPrompt(prompt.tokens, lengths, context.model, path))
      return *wrong;
    // The echo is the truncated prompt, which the model gets.
    if (prompt.tokens.size() < given && !request.echo.empty())
      request.echo[i] = context.model.tokenizer().decode(prompt.tokens);
    int64_t tokens = std::ssize(prompt.tokens);
    ApiExpected<int64_t> maxTokens =
        maxTokensFor(tokens, lengths, context.model, path);
    if (!maxTokens)
      return maxTokens.error();
    request.promptTokens += tokens;
    if (request.promptTokens * request.choices > limits.promptTokens)
      return invalidField(path, "the prompts of all choices have more "
                                "than " +
                                    std::to_string(limits.promptTokens) +
                                    " tokens");
    if (request.tokenIds)
      request.promptIds.push_back(prompt.tokens);
    const bool isScored = !request.echo.empty() && request.logprobs >= 0;
    if (isScored &&
        request.promptTokens * request.choices * (request.logprobs + 1) >
            limits.promptLogprobs)
      return invalidField("logprobs",
                          "'logprobs' of the prompts of all choices would be "
                          "more than " +
                              std::to_string(limits.promptLogprobs));
    for (int64_t choice = 0; choice < request.choices; ++choice) {
      ScheduledRequest &scheduled = request.requests.emplace_back();
      scheduled.spec = common.spec;
      scheduled.spec.prompt = prompt.tokens;
      scheduled.spec.maxTokens = *maxTokens;
      scheduled.spec.sampling.seed =
          common.seed + static_cast<uint64_t>(choice);
      scheduled.spec.logProbabilities = static_cast<int32_t>(request.logprobs);
      scheduled.spec.scoresPrompt = isScored;
      scheduled.priority = common.priority;
    }
  }
  return std::nullopt;
}
