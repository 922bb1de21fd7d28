//===- Json.cpp - the filter tojson ---------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/MergeSort.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/Print.h"
#include "runtime/text/Utf8.h"

#include <cmath>
#include <utility>

using namespace sluice::text;
using namespace sluice::text::jinja;

using Kind = Value::Kind;

namespace {

/// Writes a value as Python's json.dumps() does.
class JsonWriter {
public:
  JsonWriter(Runtime &runtime, const JsonStyle &style)
      : runtime(runtime), style(style),
        valueBytes(32 + style.itemSeparator.size() +
                   style.keySeparator.size()) {}

  std::string out;

  void write(const Value &value);

private:
  void writeText(std::string_view text);
  void writeUnicode(uint32_t unit);
  void writeFloat(double value);
  void writeList(const Value &value);
  void writeDict(const Dict &dict);
  void writeKey(const Value &key);
  void startLine();

  Runtime &runtime;
  const JsonStyle &style;
  /// The most bytes that a number takes with the text around it.
  const size_t valueBytes;
  size_t level = 0;
};

void JsonWriter::startLine() {
  if (!style.indent)
    return;
  runtime.charge(level * style.indent->size());
  out += '\n';
  for (size_t i = 0; i < level; ++i)
    out += *style.indent;
}

/// Appends \uhhhh.
void JsonWriter::writeUnicode(uint32_t unit) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4)
    out += "0123456789abcdef"[unit >> shift & 0xF];
}

void JsonWriter::writeText(std::string_view text) {
  static constexpr std::string_view special = "\"\\\n\r\t\b\f";
  static constexpr std::string_view letters = "\"\\nrtbf";
  runtime.charge(text.size());
  out += '"';
  for (size_t offset = 0; offset < text.size();) {
    size_t start = offset;
    uint32_t code = nextCodePoint(text, offset);
    size_t escape = code < 0x80 ? special.find(static_cast<char>(code))
                                : std::string_view::npos;
    if (escape != std::string_view::npos) {
      (out += '\\') += letters[escape];
    } else if (code >= 0x20 && (code < 0x7F || !style.ensureAscii)) {
      out += text.substr(start, offset - start);
    } else if (code < 0x10000) {
      writeUnicode(code);
    } else {
      writeUnicode(0xD800 + ((code - 0x10000) >> 10));
      writeUnicode(0xDC00 + ((code - 0x10000) & 0x3FF));
    }
  }
  out += '"';
}

void JsonWriter::writeFloat(double value) {
  if (std::isnan(value))
    out += "NaN";
  else if (std::isinf(value))
    out += value < 0 ? "-Infinity" : "Infinity";
  else
    out += printFloat(value);
}

void JsonWriter::writeList(const Value &value) {
  const List &list = *value.list();
  if (list.form == List::Form::Range || list.form == List::Form::View)
    runtime.fail("a ", value.typeName(), " cannot be written as JSON");
  if (list.items.empty()) {
    out += "[]";
    return;
  }
  out += '[';
  ++level;
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (i > 0)
      out += style.itemSeparator;
    startLine();
    write(list.items[i]);
  }
  --level;
  startLine();
  out += ']';
}

void JsonWriter::writeKey(const Value &key) {
  if (key.isString()) {
    writeText(key.text());
    return;
  }
  out += '"';
  write(key);
  out += '"';
}

void JsonWriter::writeDict(const Dict &dict) {
  if (dict.entries.empty()) {
    out += "{}";
    return;
  }
  std::vector<const std::pair<Value, Value> *> entries;
  for (const auto &entry : dict.entries)
    entries.push_back(&entry);
  if (style.sortKeys)
    mergeSort(entries, [&](const auto *left, const auto *right) {
      return isLess(runtime, left->first, right->first);
    });
  out += '{';
  ++level;
  bool first = true;
  for (const auto *entry : entries) {
    if (!std::exchange(first, false))
      out += style.itemSeparator;
    startLine();
    writeKey(entry->first);
    out += style.keySeparator;
    write(entry->second);
  }
  --level;
  startLine();
  out += '}';
}

void JsonWriter::write(const Value &value) {
  runtime.step();
  runtime.charge(valueBytes);
  switch (value.kind()) {
  case Kind::None:
    out += "null";
    break;
  case Kind::Bool:
    out += value.boolean() ? "true" : "false";
    break;
  case Kind::Int:
    out += printInteger(value.integer());
    break;
  case Kind::Float:
    writeFloat(value.number());
    break;
  case Kind::String:
  case Kind::Markup:
    writeText(value.text());
    break;
  case Kind::List:
    writeList(value);
    break;
  case Kind::Dict:
    writeDict(*value.dict());
    break;
  case Kind::Undefined:
    runtime.fail(value.why(), ", so it cannot be written as JSON");
  default:
    runtime.fail("a ", value.typeName(), " cannot be written as JSON");
  }
}

} // namespace

std::string jinja::toJson(Runtime &runtime, const Value &value,
                          const JsonStyle &style) {
  JsonWriter writer(runtime, style);
  writer.write(value);
  return std::move(writer.out);
}
