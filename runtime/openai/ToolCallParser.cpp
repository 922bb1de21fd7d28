//===- ToolCallParser.cpp - an incremental parser of tool calls -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/ToolCallParser.h"

#include <algorithm>
#include <utility>

using namespace sluice;
using namespace sluice::openai;

/// The limit of a function's name with the markers between it and its
/// arguments.
static constexpr size_t maxNameBytes = 512;

/// The limit of white space that is held back because a marker may follow.
static constexpr size_t maxHeldBytes = 256;

static bool isSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// Returns where the white space at the end of a text begins.
static size_t endOfWords(std::string_view text) {
  size_t end = text.size();
  while (end > 0 && isSpace(text[end - 1]))
    --end;
  return end;
}

/// Returns how many bytes at the end of `text` may begin `marker`.
static size_t partOf(std::string_view marker, std::string_view text) {
  size_t length = std::min(marker.size(), text.size());
  while (length > 0 && !text.ends_with(marker.substr(0, length)))
    --length;
  return length;
}

ToolCallParser::ToolCallParser(const ToolUse &use, uint64_t idSeed)
    : use(&use), idState(idSeed) {
  if (!use.isForced())
    return;
  // The prompt ends within a call, so the answer begins with the body.
  startBody();
  if (use.nameInPrompt.empty())
    return;
  scanner = ToolCallScanner(use.nameInPrompt);
  state = State::Call;
}

/// Makes an id of letters and digits by splitmix64 (Steele et al., OOPSLA
/// 2014).
std::string ToolCallParser::newId() {
  constexpr std::string_view digits =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string id = use->syntax->shortIds ? "" : "call_";
  for (size_t length = id.size() + (use->syntax->shortIds ? 9 : 24);
       id.size() < length;) {
    idState += 0x9E3779B97F4A7C15;
    uint64_t mixed = idState;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
    id += digits[(mixed ^ mixed >> 31) % digits.size()];
  }
  return id;
}

/// Releases the first bytes of `held` as text.
void ToolCallParser::release(size_t bytes, ChoicePiece &out) {
  out.text.append(held, 0, bytes);
  held.erase(0, bytes);
}

/// Turns a supposed call into text. Parts that were reported stay reported.
void ToolCallParser::giveUp(ChoicePiece &out) {
  state = State::Text;
  atStart = skipSpace = false;
  scanner = ToolCallScanner();
  held += std::exchange(raw, {});
  release(endOfWords(held), out);
}

/// Gives up because of `c`, which becomes text.
void ToolCallParser::giveUp(char c, ChoicePiece &out) {
  giveUp(out);
  takeText(c, out);
}

/// Starts a body, after a marker or bare.
void ToolCallParser::startBody() {
  raw = std::exchange(held, {});
  state = State::BodyStart;
  isArray = bodyReported = atStart = skipSpace = false;
}

void ToolCallParser::takeText(char c, ChoicePiece &out) {
  const ToolSyntax &syntax = *use->syntax;
  if (syntax.bareAtStart && atStart && c == '{') {
    startBody();
    isBare = true;
    return startCall(ToolCallScanner(), c, out);
  }
  atStart = atStart && isSpace(c);
  if (skipSpace && held.empty() && isSpace(c))
    return;
  held += c;
  if (held.ends_with(syntax.open)) {
    release(endOfWords(std::string_view(held).substr(
                0, held.size() - syntax.open.size())),
            out);
    startBody();
    isBare = false;
    return;
  }
  size_t part = partOf(syntax.open, held);
  if (reported > 0 && !syntax.close.empty()) {
    if (held.ends_with(syntax.close)) {
      release(endOfWords(std::string_view(held).substr(
                  0, held.size() - syntax.close.size())),
              out);
      held.clear();
      skipSpace = true;
      return;
    }
    part = std::max(part, partOf(syntax.close, held));
  }
  size_t words =
      endOfWords(std::string_view(held).substr(0, held.size() - part));
  skipSpace = skipSpace && words == 0;
  release(held.size() > maxHeldBytes ? held.size() - part : words, out);
}

void ToolCallParser::startCall(ToolCallScanner with, char first,
                               ChoicePiece &out) {
  scanner = std::move(with);
  nameReported = false;
  state = State::Call;
  takeCall(first, out);
}

void ToolCallParser::takeBodyStart(char c, ChoicePiece &out) {
  if (c == '{')
    return startCall(ToolCallScanner(), c, out);
  if (c == '[') {
    isArray = true;
    state = State::Between;
  } else if (!isSpace(c)) {
    if (use->syntax->body != ToolSyntax::Body::Arguments)
      return giveUp(c, out);
    name = c;
    state = State::Name;
  }
  raw += c;
}

void ToolCallParser::takeName(char c, ChoicePiece &out) {
  if (c != '{') {
    if (name.size() >= maxNameBytes)
      return giveUp(c, out);
    raw += c;
    name += c;
    return;
  }
  // The name may be followed by several markers, all in brackets.
  name.resize(std::min(name.find('['), name.size()));
  name.resize(endOfWords(name));
  if (name.empty())
    return giveUp(c, out);
  startCall(ToolCallScanner(std::exchange(name, {})), c, out);
}

/// Reports the new part of the call.
void ToolCallParser::tell(ChoicePiece &out) {
  if (scanner.name().empty())
    return;
  std::string arguments = scanner.takeArguments();
  if (nameReported && arguments.empty())
    return;
  if (nameReported && !out.toolCalls.empty()) {
    out.toolCalls.back().arguments += arguments;
    return;
  }
  ToolCallDelta &delta = out.toolCalls.emplace_back();
  if (!std::exchange(nameReported, true)) {
    ++reported;
    bodyReported = true;
    delta.id = newId();
    delta.name = scanner.name();
  }
  delta.index = reported - 1;
  delta.arguments = std::move(arguments);
}

/// Returns whether an object without a marker cannot be a call.
bool ToolCallParser::isForeign() const {
  const std::vector<std::string> &names = use->names;
  return isBare && (scanner.hasForeignMember() ||
                    (!scanner.name().empty() &&
                     std::find(names.begin(), names.end(), scanner.name()) ==
                         names.end()));
}

void ToolCallParser::takeCall(char c, ChoicePiece &out) {
  ToolCallScanner::Result result = scanner.take(c);
  if (result == ToolCallScanner::Result::Bad || (!nameReported && isForeign()))
    return giveUp(c, out);
  tell(out);
  if (nameReported)
    raw.clear();
  else
    raw += c;
  if (result == ToolCallScanner::Result::Done)
    endCall();
}

void ToolCallParser::endCall() {
  scanner = ToolCallScanner();
  skipSpace = true;
  if (!use->parallel || use->choice == ToolUse::Choice::Named)
    state = State::Complete;
  else if (isArray)
    state = State::Between;
  else if (use->syntax->bareAtStart)
    state = State::Behind; // in this syntax, only the first call has a marker
  else
    state = State::Text;
}

void ToolCallParser::takeBetween(char c, ChoicePiece &out) {
  if (c == '{')
    return startCall(ToolCallScanner(), c, out);
  if (c == ']' && bodyReported) {
    state = State::Text;
    return;
  }
  if (c != ',' && !isSpace(c))
    return giveUp(c, out);
  if (!bodyReported)
    raw += c;
}

void ToolCallParser::takeBehind(char c, ChoicePiece &out) {
  if (c == '{') {
    startBody();
    isBare = true;
    return startCall(ToolCallScanner(), c, out);
  }
  if (c == ';' || c == ',') {
    held += c;
  } else if (!isSpace(c)) {
    state = State::Text;
    takeText(c, out);
  }
}

void ToolCallParser::take(char c, ChoicePiece &out) {
  switch (state) {
  case State::Text:
    return takeText(c, out);
  case State::BodyStart:
    return takeBodyStart(c, out);
  case State::Name:
    return takeName(c, out);
  case State::Call:
    return takeCall(c, out);
  case State::Between:
    return takeBetween(c, out);
  case State::Behind:
    return takeBehind(c, out);
  case State::Complete:
    return;
  }
}

ChoicePiece ToolCallParser::push(std::string_view text) {
  ChoicePiece out;
  for (char c : text)
    take(c, out);
  return out;
}

ChoicePiece ToolCallParser::finish() {
  ChoicePiece out;
  // A call whose name is incomplete becomes text.
  if (!raw.empty())
    giveUp(out);
  if (state == State::Text)
    release(skipSpace ? endOfWords(held) : held.size(), out);
  return out;
}
