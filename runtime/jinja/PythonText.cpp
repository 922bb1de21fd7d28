//===- PythonText.cpp - Python's operations on strings --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/PythonText.h"

#include "runtime/jinja/Value.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

using namespace sluice::text;
using namespace sluice::text::jinja;

bool jinja::isPythonSpace(uint32_t codePoint) {
  return isWhiteSpace(codePoint) || (codePoint >= 0x1C && codePoint <= 0x1F);
}

size_t jinja::codePointCount(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<uint8_t>(c) & 0xC0) != 0x80;
      }));
}

std::vector<size_t> jinja::characterOffsets(std::string_view text) {
  std::vector<size_t> offsets;
  for (size_t at = 0; at < text.size(); at += characterLength(text[at]))
    offsets.push_back(at);
  offsets.push_back(text.size());
  return offsets;
}

/// Returns where the character that ends at `end` starts.
static size_t previousCharacter(std::string_view text, size_t end) {
  size_t at = end - 1;
  while ((static_cast<uint8_t>(text[at]) & 0xC0) == 0x80)
    --at;
  return at;
}

/// Returns `text` without the characters at its ends for which `drop` returns
/// true.
template <typename Drop>
static std::string_view stripIf(std::string_view text, Ends ends, Drop drop) {
  while (ends.left && !text.empty()) {
    size_t length = characterLength(text[0]);
    if (!drop(text.substr(0, length)))
      break;
    text.remove_prefix(length);
  }
  while (ends.right && !text.empty()) {
    size_t at = previousCharacter(text, text.size());
    if (!drop(text.substr(at)))
      break;
    text = text.substr(0, at);
  }
  return text;
}

static bool isSpaceCharacter(std::string_view character) {
  size_t offset = 0;
  return isPythonSpace(nextCodePoint(character, offset));
}

std::string_view jinja::stripSpace(std::string_view text, Ends ends) {
  return stripIf(text, ends, isSpaceCharacter);
}

std::string_view jinja::stripCharacters(std::string_view text,
                                        std::string_view characters,
                                        Ends ends) {
  return stripIf(text, ends, [&](std::string_view character) {
    return characters.find(character) != std::string_view::npos;
  });
}

/// Returns the offset of the first character of `text` that is white space
/// (`space`) or is not; the length of the text if there is none.
static size_t findSpace(std::string_view text, bool space) {
  size_t at = 0;
  while (at < text.size()) {
    size_t length = characterLength(text[at]);
    if (isSpaceCharacter(text.substr(at, length)) == space)
      break;
    at += length;
  }
  return at;
}

/// Returns the end of the last character that is white space (`space`) or is
/// not; 0 if there is none.
static size_t findLastSpace(std::string_view text, bool space) {
  size_t end = text.size();
  while (end > 0) {
    size_t at = previousCharacter(text, end);
    if (isSpaceCharacter(text.substr(at, end - at)) == space)
      break;
    end = at;
  }
  return end;
}

std::vector<std::string_view>
jinja::splitSpace(std::string_view text, int64_t maxSplits, bool fromRight) {
  std::vector<std::string_view> pieces;
  Ends near = fromRight ? Ends{false, true} : Ends{true, false};
  text = stripSpace(text, near);
  while (!text.empty()) {
    if (maxSplits >= 0 && pieces.size() == static_cast<size_t>(maxSplits)) {
      // The last piece keeps the white space of its far end, as in Python.
      pieces.push_back(text);
      break;
    }
    size_t cut = fromRight ? findLastSpace(text, true) : findSpace(text, true);
    pieces.push_back(fromRight ? text.substr(cut) : text.substr(0, cut));
    text = fromRight ? text.substr(0, cut) : text.substr(cut);
    text = stripSpace(text, near);
  }
  if (fromRight)
    std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

std::vector<std::string_view> jinja::splitAt(std::string_view text,
                                             std::string_view separator,
                                             int64_t maxSplits,
                                             bool fromRight) {
  std::vector<std::string_view> pieces;
  while (maxSplits < 0 || pieces.size() < static_cast<size_t>(maxSplits)) {
    size_t at = fromRight ? text.rfind(separator) : text.find(separator);
    if (at == std::string_view::npos)
      break;
    std::string_view before = text.substr(0, at);
    std::string_view after = text.substr(at + separator.size());
    pieces.push_back(fromRight ? after : before);
    text = fromRight ? before : after;
  }
  pieces.push_back(text);
  if (fromRight)
    std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

static bool endsLine(uint32_t code) {
  return (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) ||
         code == 0x85 || code == 0x2028 || code == 0x2029;
}

std::vector<std::string_view> jinja::splitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  size_t start = 0;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    uint32_t code = nextCodePoint(text, at);
    if (!endsLine(code))
      continue;
    lines.push_back(text.substr(start, end - start));
    if (code == '\r' && at < text.size() && text[at] == '\n')
      ++at;
    start = at;
  }
  if (start < text.size())
    lines.push_back(text.substr(start));
  return lines;
}

size_t jinja::countOccurrences(std::string_view text, std::string_view pattern,
                               int64_t limit) {
  auto max = limit < 0 ? SIZE_MAX : static_cast<size_t>(limit);
  if (pattern.empty())
    return std::min(max, codePointCount(text) + 1);
  size_t count = 0;
  for (size_t at = 0; count < max; at += pattern.size(), ++count) {
    at = text.find(pattern, at);
    if (at == std::string_view::npos)
      break;
  }
  return count;
}

std::string jinja::replaceText(std::string_view text, std::string_view pattern,
                               std::string_view content, int64_t limit) {
  size_t count = countOccurrences(text, pattern, limit);
  std::string out;
  size_t start = 0;
  for (; count > 0; --count) {
    size_t at = text.find(pattern, start);
    if (pattern.empty()) {
      out += content;
      if (start == text.size())
        break;
      size_t length = characterLength(text[start]);
      out += text.substr(start, length);
      start += length;
    } else {
      out += text.substr(start, at - start);
      out += content;
      start = at + pattern.size();
    }
  }
  out += text.substr(start);
  return out;
}

std::string jinja::escapeHtml(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '\'':
      out += "&#39;";
      break;
    case '"':
      out += "&#34;";
      break;
    default:
      out += c;
    }
  }
  return out;
}

/// Returns `text` without white space around it and without underscores between
/// digits; nothing if an underscore stands elsewhere.
static std::optional<std::string> plainNumber(std::string_view text) {
  text = stripSpace(text);
  auto isDigit = [&](size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_')
      plain += text[i];
    else if (i == 0 || !isDigit(i - 1) || !isDigit(i + 1))
      return std::nullopt;
  }
  return plain;
}

std::optional<__int128> jinja::parsePythonInteger(std::string_view text) {
  std::optional<std::string> plain = plainNumber(text);
  if (!plain || plain->empty())
    return std::nullopt;
  size_t first = (*plain)[0] == '-' || (*plain)[0] == '+' ? 1 : 0;
  if (first == plain->size())
    return std::nullopt;
  __int128 value = 0;
  for (char c : std::string_view(*plain).substr(first)) {
    if (c < '0' || c > '9')
      return std::nullopt;
    value = value * 10 + (c - '0');
    if (value > maxInteger)
      return std::nullopt;
  }
  return (*plain)[0] == '-' ? -value : value;
}

std::optional<double> jinja::parsePythonFloat(std::string_view text) {
  std::optional<std::string> plain = plainNumber(text);
  if (!plain)
    return std::nullopt;
  const char *begin = plain->data();
  const char *end = begin + plain->size();
  if (plain->size() > 1 && *begin == '+' && begin[1] != '-')
    ++begin;
  double value = 0;
  auto [read, error] = std::from_chars(begin, end, value);
  if (read != end || error == std::errc::invalid_argument)
    return std::nullopt;
  if (error == std::errc::result_out_of_range)
    value = std::strtod(plain->c_str(), nullptr); // infinite or zero
  return value;
}
