//===- AnswerWriter.cpp - answers of the OpenAI API as JSON ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/AnswerWriter.h"

#include "runtime/openai/JsonBody.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::openai;

/// JSON has no infinity; OpenAI's stands for "very unlikely".
static constexpr double leastLogprob = -9999;

static double logprobOf(const TokenLogprob &token) {
  return token.logprob >= leastLogprob ? token.logprob : leastLogprob;
}

/// A token as text. Bytes that are no whole characters are written as
/// OpenAI's: \xe2\x9c, with "bytes:" in front in completions.
static std::string nameOf(const std::string &bytes, std::string_view prefix) {
  if (text::isValidUtf8(bytes))
    return bytes;
  constexpr std::string_view digits = "0123456789abcdef";
  std::string name(prefix);
  for (char c : bytes) {
    auto byte = static_cast<uint8_t>(c);
    name += "\\x";
    name += digits[byte >> 4];
    name += digits[byte & 15];
  }
  return name;
}

/// Four lists, an item for each token.
static ordered_json completionLogprobs(const ChoicePiece &piece) {
  ordered_json offsets = ordered_json::array(), logprobs = offsets,
               tokens = offsets, tops = offsets;
  for (const LogprobEntry &entry : piece.logprobs) {
    auto name = [](const TokenLogprob &token) {
      return nameOf(token.bytes, "bytes:");
    };
    tokens.push_back(name(entry.token));
    offsets.push_back(entry.textOffset);
    if (!entry.hasLogprob) {
      logprobs.push_back(nullptr);
      tops.push_back(nullptr);
      continue;
    }
    logprobs.push_back(logprobOf(entry.token));
    // The token itself is there too, so there can be one more than asked for.
    ordered_json top = ordered_json::object();
    top[name(entry.token)] = logprobOf(entry.token);
    for (const TokenLogprob &other : entry.top)
      top.emplace(name(other), logprobOf(other));
    tops.push_back(std::move(top));
  }
  return {{"tokens", std::move(tokens)},
          {"token_logprobs", std::move(logprobs)},
          {"top_logprobs", std::move(tops)},
          {"text_offset", std::move(offsets)}};
}

static ordered_json chatToken(const TokenLogprob &token) {
  ordered_json bytes = ordered_json::array();
  for (char c : token.bytes)
    bytes.push_back(static_cast<uint8_t>(c));
  return {{"token", nameOf(token.bytes, "")},
          {"logprob", logprobOf(token)},
          {"bytes", std::move(bytes)}};
}

static ordered_json chatLogprobs(const ChoicePiece &piece) {
  ordered_json content = ordered_json::array();
  for (const LogprobEntry &entry : piece.logprobs) {
    ordered_json token = chatToken(entry.token);
    ordered_json top = ordered_json::array();
    for (const TokenLogprob &other : entry.top)
      top.push_back(chatToken(other));
    token["top_logprobs"] = std::move(top);
    content.push_back(std::move(token));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

static ordered_json logprobsOf(const GenerationRequest &request,
                               const ChoicePiece &piece) {
  if (request.logprobs < 0)
    return nullptr;
  return request.endpoint == Endpoint::Chat ? chatLogprobs(piece)
                                            : completionLogprobs(piece);
}

static ordered_json usageJson(const Usage &usage) {
  return {{"prompt_tokens", usage.promptTokens},
          {"completion_tokens", usage.completionTokens},
          {"total_tokens", usage.promptTokens + usage.completionTokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cachedTokens}}}};
}

/// Calls of a whole message, or of a delta, which has their indices too.
static ordered_json toolCallsJson(const std::vector<ToolCallDelta> &calls,
                                  bool isDelta) {
  ordered_json out = ordered_json::array();
  for (const ToolCallDelta &call : calls) {
    ordered_json json = ordered_json::object();
    ordered_json function = ordered_json::object();
    if (isDelta)
      json["index"] = call.index;
    if (!call.id.empty()) {
      json["id"] = call.id;
      json["type"] = "function";
      function["name"] = call.name;
    }
    function["arguments"] = call.arguments;
    json["function"] = std::move(function);
    out.push_back(std::move(json));
  }
  return out;
}

std::string openai::answerId(Endpoint endpoint, uint64_t number) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string id = endpoint == Endpoint::Chat ? "chatcmpl-" : "cmpl-";
  for (int shift = 60; shift >= 0; shift -= 4)
    id += digits[number >> shift & 15];
  return id;
}

std::string_view openai::finishReasonOf(const ToolUse &tools,
                                        const ChoiceEnd &end) {
  switch (end.reason) {
  case FinishReason::Stop:
    return end.calledTools && tools.choice != ToolUse::Choice::Named
               ? "tool_calls"
               : "stop";
  case FinishReason::Length:
    return "length";
  case FinishReason::Cancelled:
  case FinishReason::Timeout:
    return "abort";
  case FinishReason::Error:
    break;
  }
  return "error";
}

AnswerWriter::AnswerWriter(const GenerationRequest &request, const Model &model,
                           std::string id, int64_t created)
    : request(&request), id(std::move(id)), fingerprint(model.fingerprint()),
      created(created) {}

ordered_json AnswerWriter::envelope(std::string_view object,
                                    ordered_json choices) const {
  return {{"id", id},
          {"object", object},
          {"created", created},
          {"model", request->model},
          {"system_fingerprint",
           fingerprint.empty() ? ordered_json() : ordered_json(fingerprint)},
          {"choices", std::move(choices)}};
}

/// What goes in front of a choice's text.
std::string_view AnswerWriter::echoOf(size_t index) const {
  if (request->echo.empty())
    return {};
  return request->echo[index / static_cast<size_t>(request->choices)];
}

/// Only with request->tokenIds.
const std::vector<int32_t> &AnswerWriter::promptIdsOf(size_t index) const {
  return request->promptIds[index / static_cast<size_t>(request->choices)];
}

std::string AnswerWriter::answer(std::span<const ChoiceAnswer> choices,
                                 const Usage &usage) const {
  bool isChat = request->endpoint == Endpoint::Chat;
  ordered_json list = ordered_json::array();
  for (size_t i = 0; i < choices.size(); ++i) {
    const ChoicePiece &all = choices[i].all;
    ordered_json choice = {{"index", i}};
    if (isChat) {
      ordered_json message = {{"role", "assistant"}, {"content", all.text}};
      message["refusal"] = nullptr;
      if (!all.toolCalls.empty()) {
        if (all.text.empty())
          message["content"] = nullptr;
        message["tool_calls"] = toolCallsJson(all.toolCalls, false);
      }
      choice["message"] = std::move(message);
    } else {
      choice["text"] = std::string(echoOf(i)) + all.text;
    }
    choice["logprobs"] = logprobsOf(*request, all);
    choice["finish_reason"] = finishReasonOf(request->tools, choices[i].end);
    if (request->tokenIds)
      choice["token_ids"] = all.tokens;
    if (request->tokenIds && !isChat)
      choice["prompt_token_ids"] = promptIdsOf(i);
    list.push_back(std::move(choice));
  }
  ordered_json json =
      envelope(isChat ? "chat.completion" : "text_completion", std::move(list));
  if (request->tokenIds && isChat)
    json["prompt_token_ids"] = promptIdsOf(0);
  json["usage"] = usageJson(usage);
  return dumpJson(json);
}

/// `delta` is that of a chat.
ordered_json AnswerWriter::chunkOf(int64_t index, ordered_json delta,
                                   const ChoicePiece &piece,
                                   const ChoiceEnd *end,
                                   const Usage &soFar) const {
  bool isChat = request->endpoint == Endpoint::Chat;
  ordered_json choice = {{"index", index}};
  if (isChat)
    choice["delta"] = std::move(delta);
  else
    choice["text"] = piece.text;
  choice["logprobs"] =
      piece.logprobs.empty() ? ordered_json() : logprobsOf(*request, piece);
  choice["finish_reason"] =
      end ? ordered_json(finishReasonOf(request->tools, *end)) : ordered_json();
  if (!piece.tokens.empty())
    choice["token_ids"] = piece.tokens;
  ordered_json json =
      envelope(isChat ? "chat.completion.chunk" : "text_completion",
               ordered_json::array({std::move(choice)}));
  if (request->continuousUsage)
    json["usage"] = usageJson(soFar);
  else if (request->includeUsage)
    json["usage"] = nullptr;
  return json;
}

static ordered_json deltaOf(const ChoicePiece &piece) {
  ordered_json delta = ordered_json::object();
  if (!piece.text.empty())
    delta["content"] = piece.text;
  if (!piece.toolCalls.empty())
    delta["tool_calls"] = toolCallsJson(piece.toolCalls, true);
  return delta;
}

std::string AnswerWriter::firstChunk(int64_t index, const Usage &soFar) const {
  const bool isChat = request->endpoint == Endpoint::Chat;
  const auto place = static_cast<size_t>(index);
  ChoicePiece piece;
  if (!isChat)
    piece.text = echoOf(place);
  if (!isChat && piece.text.empty() && !request->tokenIds)
    return "";
  ordered_json json = chunkOf(index, {{"role", "assistant"}, {"content", ""}},
                              piece, nullptr, soFar);
  if (request->tokenIds)
    (isChat ? json : json["choices"][0])["prompt_token_ids"] =
        promptIdsOf(place);
  return dumpJson(json);
}

std::string AnswerWriter::chunk(int64_t index, const ChoicePiece &piece,
                                const Usage &soFar) const {
  return dumpJson(chunkOf(index, deltaOf(piece), piece, nullptr, soFar));
}

std::string AnswerWriter::lastChunk(int64_t index, const ChoicePiece &rest,
                                    const ChoiceEnd &end,
                                    const Usage &soFar) const {
  return dumpJson(chunkOf(index, deltaOf(rest), rest, &end, soFar));
}

std::string AnswerWriter::usageChunk(const Usage &usage) const {
  ordered_json json =
      envelope(request->endpoint == Endpoint::Chat ? "chat.completion.chunk"
                                                   : "text_completion",
               ordered_json::array());
  json["usage"] = usageJson(usage);
  return dumpJson(json);
}
