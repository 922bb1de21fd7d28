//===- StringLiteral.cpp - escapes of string literals ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/StringLiteral.h"

#include "runtime/text/Utf8.h"

#include <charconv>

using namespace sluice::text;
using namespace sluice::text::jinja;

/// Reads a number of at most `digits` digits at the front of `text`, and moves
/// `text` after it. If there is no digit, `text` stays as it is.
static uint32_t takeNumber(std::string_view &text, size_t digits, int base) {
  std::string_view front = text.substr(0, digits);
  uint32_t value = 0;
  auto [end, error] =
      std::from_chars(front.data(), front.data() + front.size(), value, base);
  text.remove_prefix(static_cast<size_t>(end - front.data()));
  return value;
}

/// Appends the character of \x, \u or \U and `digits` digits.
static void appendCode(std::string &out, std::string_view &rest, size_t digits,
                       Position at) {
  size_t before = rest.size();
  uint32_t code = takeNumber(rest, digits, 16);
  if (before - rest.size() != digits)
    failAt(at, "an escape needs ", digits, " hexadecimal digits");
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
    failAt(at, "an escape is not a character");
  appendCodePoint(out, code);
}

/// Appends what an escape means. Its backslash precedes `rest`.
static void appendEscape(std::string &out, std::string_view &rest,
                         Position at) {
  static constexpr std::string_view letters = "\\'\"abfnrtv";
  static constexpr std::string_view meanings = "\\'\"\a\b\f\n\r\t\v";
  char c = rest.front();
  if (c >= '0' && c <= '7') {
    appendCodePoint(out, takeNumber(rest, 3, 8));
    return;
  }
  rest.remove_prefix(1);
  if (size_t i = letters.find(c); i != std::string_view::npos)
    out += meanings[i];
  else if (c == 'x' || c == 'u' || c == 'U')
    appendCode(out, rest, c == 'x' ? 2 : c == 'u' ? 4 : 8, at);
  else if (c == 'N')
    failAt(at, "escapes by a character's name are not supported");
  else if (c != '\n') // an escaped line end is dropped
    (out += '\\') += c;
}

std::string jinja::unescapeLiteral(std::string_view body, Position at) {
  std::string out;
  std::string_view rest = body;
  while (!rest.empty()) {
    size_t slash = rest.find('\\');
    out += rest.substr(0, slash);
    if (slash == std::string_view::npos)
      break;
    rest.remove_prefix(slash + 1);
    // The lexer has checked that a character follows each backslash.
    auto offset = static_cast<uint32_t>(body.size() - rest.size() - 1);
    appendEscape(out, rest, {at.offset + offset});
  }
  return out;
}
