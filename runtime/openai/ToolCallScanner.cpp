//===- ToolCallScanner.cpp - an incremental scanner of one tool call ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/ToolCallScanner.h"

#include <nlohmann/json.hpp>
#include <utility>

using namespace sluice;
using namespace sluice::openai;

using Result = ToolCallScanner::Result;

/// The limit of a key or name in a call.
static constexpr size_t maxNameBytes = 512;

static bool isSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// Returns the text of a JSON string; empty if it is not one.
static std::string unquote(const std::string &written) {
  auto value = nlohmann::json::parse(written, nullptr, false);
  return value.is_string() ? value.get<std::string>() : "";
}

ToolCallScanner::ToolCallScanner(std::string name)
    : state(State::Value), member(Member::Arguments), argumentsOnly(true),
      function(std::move(name)) {}

std::string ToolCallScanner::takeArguments() {
  return function.empty() ? "" : std::exchange(arguments, {});
}

Result ToolCallScanner::end() {
  if (function.empty())
    return Result::Bad;
  if (!hasArguments)
    arguments = "{}";
  return Result::Done;
}

/// Takes a byte of a key's string.
Result ToolCallScanner::inString(char c) {
  key += c;
  if (key.size() > maxNameBytes)
    return Result::Bad;
  if (std::exchange(escaped, false))
    return Result::More;
  if (c == '\\')
    escaped = true;
  else if (c == '"')
    state = State::Colon;
  return Result::More;
}

void ToolCallScanner::keep(char c) {
  if (member == Member::Name || (member == Member::Arguments && isText))
    value += c;
  else if (member == Member::Arguments)
    arguments += c;
}

Result ToolCallScanner::startValue(char c) {
  if (c == '}' || c == ']' || c == ',' || c == ':')
    return Result::Bad;
  isText = inText = c == '"';
  // Refuses a name that is not a string, and a second name or second arguments.
  if ((member == Member::Name && (!isText || !function.empty())) ||
      (member == Member::Arguments && std::exchange(hasArguments, true)))
    return Result::Bad;
  depth = c == '{' || c == '[' ? 1 : 0;
  value.clear();
  keep(c);
  state = State::InValue;
  return Result::More;
}

Result ToolCallScanner::endValue() {
  if (member == Member::Name) {
    function = unquote(value);
    if (function.empty())
      return Result::Bad;
  } else if (member == Member::Arguments && isText) {
    // Some models write the arguments as JSON in a string.
    arguments = unquote(value);
  }
  state = State::AfterValue;
  return argumentsOnly ? end() : Result::More;
}

Result ToolCallScanner::inValue(char c) {
  if (member == Member::Name && value.size() > maxNameBytes)
    return Result::Bad;
  if (inText) {
    keep(c);
    if (std::exchange(escaped, false))
      return Result::More;
    escaped = c == '\\';
    inText = c != '"';
    return inText || depth > 0 ? Result::More : endValue();
  }
  if (depth == 0) {
    // A number, true, false or null ends before a byte that cannot be in one.
    if (c != ',' && c != '}' && !isSpace(c)) {
      keep(c);
      return Result::More;
    }
    Result ended = endValue();
    return ended == Result::More ? afterValue(c) : ended;
  }
  keep(c);
  if (c == '"')
    inText = true;
  else if (c == '{' || c == '[')
    ++depth;
  else if ((c == '}' || c == ']') && --depth == 0)
    return endValue();
  return Result::More;
}

Result ToolCallScanner::afterValue(char c) {
  if (c == '}')
    return end();
  if (c == ',')
    state = State::Key;
  else if (!isSpace(c))
    return Result::Bad;
  return Result::More;
}

Result ToolCallScanner::take(char c) {
  switch (state) {
  case State::InKey:
    return inString(c);
  case State::InValue:
    return inValue(c);
  case State::AfterValue:
    return afterValue(c);
  default:
    break;
  }
  if (isSpace(c))
    return Result::More;
  if (state == State::Value)
    return startValue(c);
  if (state == State::Colon) {
    std::string text = unquote(key);
    member = text == "name"                                ? Member::Name
             : text == "arguments" || text == "parameters" ? Member::Arguments
                                                           : Member::Other;
    foreign =
        foreign || (member == Member::Other && text != "id" && text != "type");
    state = State::Value;
    return c == ':' ? Result::More : Result::Bad;
  }
  if (state == State::Start) {
    state = State::Key;
    return c == '{' ? Result::More : Result::Bad;
  }
  if (c == '}')
    return end();
  key = c;
  state = State::InKey;
  return c == '"' ? Result::More : Result::Bad;
}
