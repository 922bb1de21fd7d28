//===- ChoiceText.cpp - the text of a choice, from its tokens -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/ChoiceText.h"

#include "runtime/openai/ToolCallParser.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::openai;

/// Returns the number of characters of valid UTF-8, as Python counts them.
static int64_t countCharacters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<uint8_t>(c) & 0xC0) != 0x80;
  });
}

void ChoicePiece::append(ChoicePiece next) {
  text += next.text;
  std::move(next.logprobs.begin(), next.logprobs.end(),
            std::back_inserter(logprobs));
  tokens.insert(tokens.end(), next.tokens.begin(), next.tokens.end());
  for (ToolCallDelta &delta : next.toolCalls) {
    if (!toolCalls.empty() && toolCalls.back().index == delta.index)
      toolCalls.back().arguments += delta.arguments;
    else
      toolCalls.push_back(std::move(delta));
  }
}

ChoiceText::ChoiceText(const GenerationRequest &request, const Model &model,
                       size_t index)
    : request(&request), model(&model),
      detokenizer(model.tokenizer(), request.skipSpecial),
      // This cannot fail, because the request's limits are within the
      // matcher's.
      stop(StopMatcher::create(request.stops).take()) {
  if (request.tools.choice != ToolUse::Choice::None)
    tools = std::make_unique<ToolCallParser>(
        request.tools,
        request.random + static_cast<uint64_t>(index) * 0xD1B54A32D192ED03);
  if (!request.echo.empty())
    echoed = countCharacters(
        request.echo[index / static_cast<size_t>(request.choices)]);
  if (const RequestSpec &spec = request.requests[index].spec; spec.scoresPrompt)
    readPrompt(spec.prompt);
}

/// Computes the offsets of the prompt's tokens in its text. Tokens that the
/// tokenizer put in front of the text are not part of it and get the offset of
/// its beginning.
void ChoiceText::readPrompt(const std::vector<int32_t> &prompt) {
  text::Detokenizer pieces(model->tokenizer(), /*skipSpecial=*/false);
  int64_t length = 0;
  for (int32_t token : prompt) {
    promptOffsets.push_back(length);
    length += countCharacters(pieces.push(token));
  }
  length += countCharacters(pieces.flush());
  for (int64_t &offset : promptOffsets)
    offset = std::max<int64_t>(0, offset + echoed - length);
  first = {.token = {model->tokenBytes(prompt[0]), 0},
           .top = {},
           .textOffset = 0,
           .hasLogprob = false};
}

/// Puts the entry of the prompt's first token before all others.
void ChoiceText::addFirst(ChoicePiece &piece) {
  if (!first)
    return;
  piece.logprobs.insert(piece.logprobs.begin(), std::move(*first));
  first.reset();
}

ChoicePiece
ChoiceText::pushPrompt(std::span<const TokenLogProbability> report) {
  ChoicePiece piece;
  LogprobEntry &entry = piece.logprobs.emplace_back(entryOf(report));
  entry.textOffset = promptOffsets[promptTaken++];
  addFirst(piece);
  return piece;
}

ChoiceText::ChoiceText(ChoiceText &&) noexcept = default;
ChoiceText &ChoiceText::operator=(ChoiceText &&) noexcept = default;
ChoiceText::~ChoiceText() = default;

bool ChoiceText::calledTools() const { return tools && tools->calls() > 0; }

std::string ChoiceText::textOf(int32_t token) {
  const text::Tokenizer &tokenizer = model->tokenizer();
  if (tools && request->skipSpecial && tokenizer.isSpecial(token)) {
    // Special tokens make no text, except those that mark tool calls.
    std::string_view name = tokenizer.tokenText(token);
    const ToolSyntax &syntax = *request->tools.syntax;
    if (name == syntax.open || name == syntax.close)
      return detokenizer.flush() + std::string(name);
  }
  return detokenizer.push(token);
}

LogprobEntry
ChoiceText::entryOf(std::span<const TokenLogProbability> report) const {
  auto named = [&](const TokenLogProbability &entry) {
    return TokenLogprob{model->tokenBytes(entry.token), entry.logProbability};
  };
  LogprobEntry entry;
  entry.token = named(report[0]);
  size_t count =
      std::min(report.size() - 1, static_cast<size_t>(request->logprobs));
  for (const TokenLogProbability &other : report.subspan(1, count))
    entry.top.push_back(named(other));
  entry.textOffset = decoded;
  return entry;
}

ChoicePiece ChoiceText::release(std::string_view text, bool last) {
  released += countCharacters(text);
  ChoicePiece piece;
  if (!tools) {
    piece.text = text;
  } else {
    piece = tools->push(text);
    if (last)
      piece.append(tools->finish());
  }
  // Tokens behind a stop string are not part of the answer.
  auto isReady = [&](const Waiting &token) {
    return token.end <= released || token.entry.textOffset < released;
  };
  size_t ready = 0;
  while (ready < waiting.size() && isReady(waiting[ready])) {
    piece.logprobs.push_back(std::move(waiting[ready++].entry));
    piece.logprobs.back().textOffset += echoed;
  }
  waiting.erase(waiting.begin(),
                waiting.begin() + static_cast<ptrdiff_t>(ready));
  addFirst(piece);
  return piece;
}

ChoicePiece ChoiceText::push(int32_t token,
                             std::span<const TokenLogProbability> report) {
  if (ended)
    return {};
  ++taken;
  LogprobEntry entry;
  bool wantsEntry = request->logprobs >= 0 && !report.empty();
  if (wantsEntry)
    entry = entryOf(report);
  std::string text = textOf(token);
  decoded += countCharacters(text);
  if (wantsEntry)
    waiting.push_back({std::move(entry), decoded});
  ChoicePiece piece = release(stop.push(text), /*last=*/false);
  if (request->tokenIds)
    piece.tokens.push_back(token);
  ended = stop.stopped() || (tools && tools->isComplete());
  return piece;
}

ChoicePiece ChoiceText::finish() {
  std::string rest = stop.push(detokenizer.flush());
  rest += stop.flush();
  ended = true;
  return release(rest, /*last=*/true);
}
