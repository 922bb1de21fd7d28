//===- FieldReader.h - the members of a JSON object, checked --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads members of an object of a request, each with its type and range, and
// keeps the first error: a request with a wrong field is refused as a whole, so
// that what was read after it does not matter.
//
//   FieldReader fields(object, "stream_options");
//   fields.flag("include_usage", wanted);
//   if (!fields.ok())
//     return fields.error();
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_FIELDREADER_H
#define SLUICE_RUNTIME_OPENAI_FIELDREADER_H

#include "runtime/openai/ApiError.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>

namespace sluice::openai {

using nlohmann::ordered_json;

/// "a string", "an integer": what a value is, for messages.
std::string_view typeName(const ordered_json &value);

/// An error where the value at `path` is no object.
ApiStatus checkObject(const ordered_json &value, const std::string &path);

/// A number without a fraction, from -2^63 on; as in Python's pydantic 2.0 is
/// one too.
std::optional<int64_t> integerOf(const ordered_json &value);

/// Refers to the object, which outlives it. Each method leaves `out` as it is
/// where the member is not there, or null.
class FieldReader {
public:
  /// `path`: where the object is in the request; empty for the whole.
  explicit FieldReader(const ordered_json &object, std::string path = {})
      : object(&object), path(std::move(path)) {}

  /// A member that is there and not null; else nullptr.
  const ordered_json *find(std::string_view name) const;
  /// "messages[2].content".
  std::string pathOf(std::string_view name) const;

  void flag(std::string_view name, bool &out);
  void integer(std::string_view name, int64_t &out, int64_t min, int64_t max);
  void integer(std::string_view name, std::optional<int64_t> &out, int64_t min,
               int64_t max);
  /// A finite number; its range is somebody else's.
  void number(std::string_view name, double &out);
  void text(std::string_view name, std::string &out);
  /// A member that must be an array, or an object; nullptr where it is not
  /// there, or something else, which is an error.
  const ordered_json *array(std::string_view name);
  const ordered_json *members(std::string_view name);

  /// Keeps an error about a member, if it is the first.
  template <typename... Parts>
  void fail(std::string_view name, const Parts &...parts) {
    std::ostringstream message;
    message << "'" << pathOf(name) << "' ";
    (message << ... << parts);
    keep(invalidField(pathOf(name), message.str()));
  }
  void keep(ApiStatus status);

  bool ok() const { return !first; }
  const ApiError &error() const { return *first; }
  const ApiStatus &status() const { return first; }

private:
  void wrongType(std::string_view name, const ordered_json &value,
                 std::string_view wanted);

  const ordered_json *object;
  std::string path;
  ApiStatus first;
};

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_FIELDREADER_H
