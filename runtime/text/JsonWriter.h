//===- JsonWriter.h - writes JSON member by member ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_JSONWRITER_H
#define SLUICE_RUNTIME_TEXT_JSONWRITER_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::text {

/// Writes JSON in the order of the calls, into one string. It allocates nothing
/// else, so an exception for lack of memory leaves nothing behind that would
/// have to be freed with care. A number that JSON cannot spell (infinite, not a
/// number) becomes null. Invalid UTF-8 is replaced by replacement characters.
///
///   JsonWriter json;
///   json.beginObject();
///   json.key("tokens").numbers(ids);
///   json.endObject();
///   json.text();
class JsonWriter {
public:
  enum class Style : uint8_t {
    /// For people: with spaces. Floats have nine significant digits, so they
    /// read back as the same float; doubles have twelve.
    Spaced,
    /// For programs: without spaces. Doubles read back as the same double, and
    /// always look like floating-point numbers.
    Compact
  };
  explicit JsonWriter(Style style = Style::Spaced) : style(style) {}

  void beginObject();
  void endObject();
  void beginArray();
  void endArray();

  /// Writes the key of the next value.
  JsonWriter &key(std::string_view name);

  void null();
  void boolean(bool value);
  void string(std::string_view value);
  void number(int64_t value);
  void number(uint64_t value);
  void number(float value);
  void number(double value);
  /// Writes a value that already is JSON.
  void json(std::string_view value);

  template <typename T> void numbers(std::span<const T> values) {
    beginArray();
    for (const T &value : values)
      number(value);
    endArray();
  }

  const std::string &text() const { return out; }
  /// Moves the text out.
  std::string take() { return std::move(out); }

private:
  void separate();
  void print(const char *format, double value);
  void printExactly(double value);

  Style style;
  std::string out;
  bool needComma = false;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_JSONWRITER_H
