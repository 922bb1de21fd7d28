//===- Print.cpp - converts values to text --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/Print.h"

#include "runtime/text/NewCharacters.h"
#include "runtime/text/Utf8.h"

#include <charconv>
#include <cmath>
#include <utf8proc.h>

using namespace sluice::text;
using namespace sluice::text::jinja;

using Kind = Value::Kind;

std::string jinja::printInteger(Integer value) {
  // `value` is within +-maxInteger, so its magnitude fits.
  auto magnitude = static_cast<uint64_t>(value < 0 ? -value : value);
  return (value < 0 ? "-" : "") + std::to_string(magnitude);
}

std::string jinja::printFloat(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  // The form is [-]d[.ddd]e[+-]xx, with the fewest digits.
  char buffer[32];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value,
                                    std::chars_format::scientific);
  std::string_view spelt(buffer, static_cast<size_t>(end - buffer));
  size_t mark = spelt.find('e');
  int exponent = 0;
  const char *power = spelt.data() + mark + 1;
  std::from_chars(*power == '+' ? power + 1 : power, end, exponent);
  if (exponent < -4 || exponent >= 16)
    return std::string(spelt);

  std::string sign;
  std::string digits;
  for (char c : spelt.substr(0, mark)) {
    if (c == '-')
      sign = "-";
    else if (c != '.')
      digits += c;
  }
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') +
           digits;
  auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole)
    return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

/// Returns whether repr() of a string shows the character unescaped.
static bool isPrintable(uint32_t code) {
  if (code < 0x80)
    return code >= ' ' && code != 0x7F;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(standIn(code)))) {
  case UTF8PROC_CATEGORY_CC:
  case UTF8PROC_CATEGORY_CF:
  case UTF8PROC_CATEGORY_CS:
  case UTF8PROC_CATEGORY_CO:
  case UTF8PROC_CATEGORY_CN:
  case UTF8PROC_CATEGORY_ZL:
  case UTF8PROC_CATEGORY_ZP:
  case UTF8PROC_CATEGORY_ZS:
    return false;
  default:
    return true;
  }
}

static void appendHex(std::string &out, uint32_t value, int digits) {
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4)
    out += "0123456789abcdef"[value >> shift & 0xF];
}

/// Appends \xhh, \uhhhh or \Uhhhhhhhh.
static void appendPythonEscape(std::string &out, uint32_t code) {
  out += code < 0x100 ? "\\x" : code < 0x10000 ? "\\u" : "\\U";
  appendHex(out, code, code < 0x100 ? 2 : code < 0x10000 ? 4 : 8);
}

/// Appends repr() of a string: in single quotes, unless it contains single
/// quotes and no double ones.
static void appendQuoted(std::string &out, std::string_view text) {
  bool hasSingle = text.find('\'') != std::string_view::npos;
  bool hasDouble = text.find('"') != std::string_view::npos;
  char quote = hasSingle && !hasDouble ? '"' : '\'';
  out += quote;
  for (size_t offset = 0; offset < text.size();) {
    size_t start = offset;
    uint32_t code = nextCodePoint(text, offset);
    if (code == '\n')
      out += "\\n";
    else if (code == '\r')
      out += "\\r";
    else if (code == '\t')
      out += "\\t";
    else if (code == '\\' || code == static_cast<uint8_t>(quote))
      (out += '\\') += static_cast<char>(code);
    else if (isPrintable(code))
      out += text.substr(start, offset - start);
    else
      appendPythonEscape(out, code);
  }
  out += quote;
}

static void appendRepr(Runtime &runtime, std::string &out, const Value &value);

static void appendRepr(Runtime &runtime, std::string &out, const List &list) {
  bool tuple = list.form == List::Form::Tuple;
  if (list.form == List::Form::Range || list.form == List::Form::View)
    runtime.fail("a range or a view of a dict cannot be printed; make a list "
                 "of it");
  out += tuple ? '(' : '[';
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (i > 0)
      out += ", ";
    appendRepr(runtime, out, list.items[i]);
  }
  if (tuple && list.items.size() == 1)
    out += ',';
  out += tuple ? ')' : ']';
}

static void appendRepr(Runtime &runtime, std::string &out, const Dict &dict) {
  out += '{';
  for (size_t i = 0; i < dict.entries.size(); ++i) {
    if (i > 0)
      out += ", ";
    appendRepr(runtime, out, dict.entries[i].first);
    out += ": ";
    appendRepr(runtime, out, dict.entries[i].second);
  }
  out += '}';
}

/// Appends repr(value), which differs from str(value) for strings and
/// Undefined. A list can hold one long text many times, so the result is
/// counted as it grows.
static void appendRepr(Runtime &runtime, std::string &out, const Value &value) {
  runtime.step();
  runtime.charge(32); // no less than a number takes
  switch (value.kind()) {
  case Kind::Undefined:
    out += "Undefined";
    break;
  case Kind::String:
    runtime.charge(value.text().size());
    appendQuoted(out, value.text());
    break;
  case Kind::Markup:
    runtime.charge(value.text().size());
    out += "Markup(";
    appendQuoted(out, value.text());
    out += ')';
    break;
  case Kind::List:
    appendRepr(runtime, out, *value.list());
    break;
  case Kind::Dict:
    appendRepr(runtime, out, *value.dict());
    break;
  default:
    out += toText(runtime, value);
  }
}

std::string jinja::toText(Runtime &runtime, const Value &value) {
  std::string out;
  switch (value.kind()) {
  case Kind::Missing:
  case Kind::Undefined:
    return "";
  case Kind::None:
    return "None";
  case Kind::Bool:
    return value.boolean() ? "True" : "False";
  case Kind::Int:
    return printInteger(value.integer());
  case Kind::Float:
    return printFloat(value.number());
  case Kind::String:
  case Kind::Markup:
    return value.text();
  case Kind::List:
    appendRepr(runtime, out, *value.list());
    return out;
  case Kind::Dict:
    appendRepr(runtime, out, *value.dict());
    return out;
  default:
    runtime.fail("a ", value.typeName(), " cannot be printed");
  }
}
