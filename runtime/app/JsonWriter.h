//===- JsonWriter.h - one JSON object, member by member -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_JSONWRITER_H
#define SLUICE_RUNTIME_APP_JSONWRITER_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice::app {

/// Writes JSON in the order of the calls. Floats are printed with nine
/// significant digits, which read back as the same float; a number that JSON
/// has no spelling for (infinite, not a number) becomes null. Text that is not
/// UTF-8 gets replacement characters.
///
///   JsonWriter json;
///   json.beginObject();
///   json.key("tokens").numbers(ids);
///   json.endObject();
///   json.text();
class JsonWriter {
public:
  void beginObject();
  void endObject();
  void beginArray();
  void endArray();

  /// Names the next value.
  JsonWriter &key(std::string_view name);

  void null();
  void boolean(bool value);
  void string(std::string_view value);
  void number(int64_t value);
  void number(uint64_t value);
  void number(float value);
  void number(double value);
  /// A value that is JSON already.
  void json(std::string_view value);

  template <typename T> void numbers(std::span<const T> values) {
    beginArray();
    for (const T &value : values)
      number(value);
    endArray();
  }

  const std::string &text() const { return out; }

private:
  void separate();
  void print(const char *format, double value);

  std::string out;
  bool needComma = false;
};

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_JSONWRITER_H
