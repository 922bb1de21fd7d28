//===- AnswerWriter.cpp - answers of the OpenAI API as JSON ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/AnswerWriter.h"

#include "runtime/text/JsonWriter.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::openai;

using text::JsonWriter;

/// JSON has no infinity; OpenAI uses this value for "very unlikely".
static constexpr double minLogprob = -9999;

static double logprobOf(const TokenLogprob &token) {
  return token.logprob >= minLogprob ? token.logprob : minLogprob;
}

/// Returns a token's text. Incomplete characters are written as in OpenAI's
/// API: \xe2\x9c, with "bytes:" in front in completions.
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

/// Writes the most probable tokens and the token itself, which can be one more
/// than requested. If a name occurs twice, the first counts.
template <typename Name>
static void writeTop(JsonWriter &json, const LogprobEntry &entry,
                     const Name &name) {
  std::vector<std::string> names;
  auto write = [&](const TokenLogprob &token) {
    std::string own = name(token);
    if (std::ranges::find(names, own) != names.end())
      return;
    json.key(own).number(logprobOf(token));
    names.push_back(std::move(own));
  };
  json.beginObject();
  write(entry.token);
  for (const TokenLogprob &other : entry.top)
    write(other);
  json.endObject();
}

/// Writes four lists with an item for each token.
static void writeCompletionLogprobs(JsonWriter &json,
                                    const ChoicePiece &piece) {
  auto name = [](const TokenLogprob &token) {
    return nameOf(token.bytes, "bytes:");
  };
  auto list = [&](std::string_view key, const auto &write) {
    json.key(key).beginArray();
    for (const LogprobEntry &entry : piece.logprobs)
      write(entry);
    json.endArray();
  };
  json.beginObject();
  list("tokens",
       [&](const LogprobEntry &entry) { json.string(name(entry.token)); });
  list("token_logprobs", [&](const LogprobEntry &entry) {
    if (entry.hasLogprob)
      json.number(logprobOf(entry.token));
    else
      json.null();
  });
  list("top_logprobs", [&](const LogprobEntry &entry) {
    if (entry.hasLogprob)
      writeTop(json, entry, name);
    else
      json.null();
  });
  list("text_offset",
       [&](const LogprobEntry &entry) { json.number(entry.textOffset); });
  json.endObject();
}

/// Writes the members of a token of a chat into an open object.
static void writeChatToken(JsonWriter &json, const TokenLogprob &token) {
  json.key("token").string(nameOf(token.bytes, ""));
  json.key("logprob").number(logprobOf(token));
  json.key("bytes").beginArray();
  for (char c : token.bytes)
    json.number(int64_t{static_cast<uint8_t>(c)});
  json.endArray();
}

static void writeChatLogprobs(JsonWriter &json, const ChoicePiece &piece) {
  json.beginObject();
  json.key("content").beginArray();
  for (const LogprobEntry &entry : piece.logprobs) {
    json.beginObject();
    writeChatToken(json, entry.token);
    json.key("top_logprobs").beginArray();
    for (const TokenLogprob &other : entry.top) {
      json.beginObject();
      writeChatToken(json, other);
      json.endObject();
    }
    json.endArray();
    json.endObject();
  }
  json.endArray();
  json.key("refusal").null();
  json.endObject();
}

static void writeLogprobs(JsonWriter &json, const GenerationRequest &request,
                          const ChoicePiece &piece) {
  json.key("logprobs");
  if (request.logprobs < 0)
    json.null();
  else if (request.endpoint == Endpoint::Chat)
    writeChatLogprobs(json, piece);
  else
    writeCompletionLogprobs(json, piece);
}

static void writeUsage(JsonWriter &json, const Usage &usage) {
  json.key("usage").beginObject();
  json.key("prompt_tokens").number(usage.promptTokens);
  json.key("completion_tokens").number(usage.completionTokens);
  json.key("total_tokens").number(usage.promptTokens + usage.completionTokens);
  json.key("prompt_tokens_details").beginObject();
  json.key("cached_tokens").number(usage.cachedTokens);
  json.endObject();
  json.endObject();
}

/// Writes the calls of a whole message, or of a delta, which also has their
/// indices.
static void writeToolCalls(JsonWriter &json,
                           const std::vector<ToolCallDelta> &calls,
                           bool isDelta) {
  json.key("tool_calls").beginArray();
  for (const ToolCallDelta &call : calls) {
    json.beginObject();
    if (isDelta)
      json.key("index").number(call.index);
    if (!call.id.empty()) {
      json.key("id").string(call.id);
      json.key("type").string("function");
    }
    json.key("function").beginObject();
    if (!call.id.empty())
      json.key("name").string(call.name);
    json.key("arguments").string(call.arguments);
    json.endObject();
    json.endObject();
  }
  json.endArray();
}

static void writeIds(JsonWriter &json, std::string_view name,
                     std::span<const int32_t> ids) {
  json.key(name).beginArray();
  for (int32_t id : ids)
    json.number(int64_t{id});
  json.endArray();
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

/// Begins an answer; its choices follow.
void AnswerWriter::begin(JsonWriter &json, std::string_view object) const {
  json.beginObject();
  json.key("id").string(id);
  json.key("object").string(object);
  json.key("created").number(created);
  json.key("model").string(request->model);
  json.key("system_fingerprint");
  if (fingerprint.empty())
    json.null();
  else
    json.string(fingerprint);
  json.key("choices").beginArray();
}

/// Returns the text in front of a choice's text.
std::string_view AnswerWriter::echoOf(size_t index) const {
  if (request->echo.empty())
    return {};
  return request->echo[index / static_cast<size_t>(request->choices)];
}

/// May be called only with request->tokenIds.
const std::vector<int32_t> &AnswerWriter::promptIdsOf(size_t index) const {
  return request->promptIds[index / static_cast<size_t>(request->choices)];
}

void AnswerWriter::writeMessage(JsonWriter &json,
                                const ChoicePiece &all) const {
  json.key("message").beginObject();
  json.key("role").string("assistant");
  json.key("content");
  if (all.text.empty() && !all.toolCalls.empty())
    json.null();
  else
    json.string(all.text);
  json.key("refusal").null();
  if (!all.toolCalls.empty())
    writeToolCalls(json, all.toolCalls, /*isDelta=*/false);
  json.endObject();
}

void AnswerWriter::writeChoice(JsonWriter &json, size_t index,
                               const ChoiceAnswer &choice) const {
  const bool isChat = request->endpoint == Endpoint::Chat;
  const ChoicePiece &all = choice.all;
  json.beginObject();
  json.key("index").number(uint64_t{index});
  if (isChat)
    writeMessage(json, all);
  else
    json.key("text").string(std::string(echoOf(index)) + all.text);
  writeLogprobs(json, *request, all);
  json.key("finish_reason").string(finishReasonOf(request->tools, choice.end));
  if (request->tokenIds)
    writeIds(json, "token_ids", all.tokens);
  if (request->tokenIds && !isChat)
    writeIds(json, "prompt_token_ids", promptIdsOf(index));
  json.endObject();
}

std::string AnswerWriter::answer(std::span<const ChoiceAnswer> choices,
                                 const Usage &usage) const {
  const bool isChat = request->endpoint == Endpoint::Chat;
  JsonWriter json(JsonWriter::Style::Compact);
  begin(json, isChat ? "chat.completion" : "text_completion");
  for (size_t i = 0; i < choices.size(); ++i)
    writeChoice(json, i, choices[i]);
  json.endArray();
  if (request->tokenIds && isChat)
    writeIds(json, "prompt_token_ids", promptIdsOf(0));
  writeUsage(json, usage);
  json.endObject();
  return json.take();
}

/// Writes a new piece of a choice in a chat.
static void writeDelta(JsonWriter &json, const ChoicePiece &piece,
                       bool isFirst) {
  json.key("delta").beginObject();
  if (isFirst)
    json.key("role").string("assistant");
  if (isFirst || !piece.text.empty())
    json.key("content").string(piece.text);
  if (!piece.toolCalls.empty())
    writeToolCalls(json, piece.toolCalls, /*isDelta=*/true);
  json.endObject();
}

std::string AnswerWriter::write(const Chunk &chunk, const Usage &soFar) const {
  const bool isChat = request->endpoint == Endpoint::Chat;
  const ChoicePiece &piece = chunk.piece;
  const bool hasPromptIds = chunk.isFirst && request->tokenIds;
  const auto place = static_cast<size_t>(chunk.index);
  JsonWriter json(JsonWriter::Style::Compact);
  begin(json, isChat ? "chat.completion.chunk" : "text_completion");
  json.beginObject();
  json.key("index").number(chunk.index);
  if (isChat)
    writeDelta(json, piece, chunk.isFirst);
  else
    json.key("text").string(piece.text);
  if (piece.logprobs.empty())
    json.key("logprobs").null();
  else
    writeLogprobs(json, *request, piece);
  json.key("finish_reason");
  if (chunk.end)
    json.string(finishReasonOf(request->tools, *chunk.end));
  else
    json.null();
  if (!piece.tokens.empty())
    writeIds(json, "token_ids", piece.tokens);
  if (hasPromptIds && !isChat)
    writeIds(json, "prompt_token_ids", promptIdsOf(place));
  json.endObject();
  json.endArray();
  if (request->continuousUsage)
    writeUsage(json, soFar);
  else if (request->includeUsage)
    json.key("usage").null();
  if (hasPromptIds && isChat)
    writeIds(json, "prompt_token_ids", promptIdsOf(place));
  json.endObject();
  return json.take();
}

std::string AnswerWriter::firstChunk(int64_t index, const Usage &soFar) const {
  const bool isChat = request->endpoint == Endpoint::Chat;
  ChoicePiece piece;
  if (!isChat)
    piece.text = echoOf(static_cast<size_t>(index));
  if (!isChat && piece.text.empty() && !request->tokenIds)
    return "";
  return write({.index = index, .piece = piece, .isFirst = true}, soFar);
}

std::string AnswerWriter::chunk(int64_t index, const ChoicePiece &piece,
                                const Usage &soFar) const {
  return write({.index = index, .piece = piece}, soFar);
}

std::string AnswerWriter::lastChunk(int64_t index, const ChoicePiece &rest,
                                    const ChoiceEnd &end,
                                    const Usage &soFar) const {
  return write({.index = index, .piece = rest, .end = &end}, soFar);
}

std::string AnswerWriter::usageChunk(const Usage &usage) const {
  JsonWriter json(JsonWriter::Style::Compact);
  begin(json, request->endpoint == Endpoint::Chat ? "chat.completion.chunk"
                                                  : "text_completion");
  json.endArray();
  writeUsage(json, usage);
  json.endObject();
  return json.take();
}
