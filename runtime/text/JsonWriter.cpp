//===- JsonWriter.cpp - writes JSON member by member ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/JsonWriter.h"

#include "runtime/text/Utf8.h"

#include <charconv>
#include <cmath>
#include <cstdio>

using namespace sluice;
using namespace sluice::text;

void JsonWriter::separate() {
  if (needComma)
    out += style == Style::Spaced ? ", " : ",";
  needComma = true;
}

void JsonWriter::beginObject() {
  separate();
  out += '{';
  needComma = false;
}

void JsonWriter::endObject() {
  out += '}';
  needComma = true;
}

void JsonWriter::beginArray() {
  separate();
  out += '[';
  needComma = false;
}

void JsonWriter::endArray() {
  out += ']';
  needComma = true;
}

JsonWriter &JsonWriter::key(std::string_view name) {
  string(name);
  out += style == Style::Spaced ? ": " : ":";
  needComma = false;
  return *this;
}

void JsonWriter::json(std::string_view value) {
  separate();
  out += value;
}

void JsonWriter::null() {
  separate();
  out += "null";
}

void JsonWriter::boolean(bool value) {
  separate();
  out += value ? "true" : "false";
}

/// Returns the letter that follows '\\' in a character's short escape; 0 if it
/// has none.
static char shortEscape(char c) {
  switch (c) {
  case '"':
  case '\\':
    return c;
  case '\b':
    return 'b';
  case '\f':
    return 'f';
  case '\n':
    return 'n';
  case '\r':
    return 'r';
  case '\t':
    return 't';
  default:
    return 0;
  }
}

/// Appends UTF-8 text, escaped.
static void appendEscaped(std::string &out, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (char letter = shortEscape(c)) {
      out += '\\';
      out += letter;
    } else if (byte < ' ') {
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
}

void JsonWriter::string(std::string_view value) {
  separate();
  out += '"';
  if (isValidUtf8(value))
    appendEscaped(out, value);
  else
    appendEscaped(out, replaceInvalidUtf8(value));
  out += '"';
}

void JsonWriter::number(int64_t value) {
  separate();
  out += std::to_string(value);
}

void JsonWriter::number(uint64_t value) {
  separate();
  out += std::to_string(value);
}

void JsonWriter::number(float value) { print("%.9g", value); }

void JsonWriter::number(double value) {
  if (style == Style::Spaced)
    print("%.12g", value);
  else
    printExactly(value);
}

void JsonWriter::print(const char *format, double value) {
  if (!std::isfinite(value))
    return null();
  separate();
  char digits[40];
  std::snprintf(digits, sizeof(digits), format, value);
  out += digits;
}

void JsonWriter::printExactly(double value) {
  if (!std::isfinite(value))
    return null();
  separate();
  char digits[40];
  const std::to_chars_result end =
      std::to_chars(digits, digits + sizeof digits, value);
  const std::string_view shown(digits, end.ptr);
  out += shown;
  if (shown.find_first_of(".e") == shown.npos)
    out += ".0";
}
