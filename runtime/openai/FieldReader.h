//===- FieldReader.h - checked reading of a JSON object's members ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads members of a request's object, checks their types and ranges, and keeps
// the first error. A request with a wrong field is refused as a whole, so
// values read after an error do not matter.
//
//   FieldReader fields(object, "stream_options");
//   fields.flag("include_usage", wanted);
//   if (!fields.ok())
//     return fields.error();
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_FIELDREADER_H
#define SLUICE_RUNTIME_OPENAI_FIELDREADER_H

#include "runtime/base/Status.h"
#include "runtime/openai/ApiError.h"

#include <cstdint>
#include <nlohmann/json.hpp>

namespace sluice::openai {

using nlohmann::ordered_json;

/// Returns the type of a value for messages: "a string", "an integer".
std::string_view typeName(const ordered_json &value);

/// Fails if the value at `path` is not an object.
ApiStatus checkObject(const ordered_json &value, const std::string &path);

/// Returns a number without a fraction, from -2^63 on. 2.0 is also an integer,
/// as in Python's pydantic.
std::optional<int64_t> integerOf(const ordered_json &value);

/// Reads members of an object, which must outlive the reader. Each method
/// leaves `out` unchanged if the member is missing or null.
class FieldReader {
public:
  /// `path` is the object's place in the request; empty for the whole request.
  explicit FieldReader(const ordered_json &object, std::string path = {})
      : object(&object), path(std::move(path)) {}

  /// Returns the member, or nullptr if it is missing or null.
  const ordered_json *find(std::string_view name) const;
  /// Returns the path of a member: "messages[2].content".
  std::string pathOf(std::string_view name) const;

  void flag(std::string_view name, bool &out);
  void integer(std::string_view name, int64_t &out, int64_t min, int64_t max);
  void integer(std::string_view name, std::optional<int64_t> &out, int64_t min,
               int64_t max);
  /// Reads a finite number; the caller checks its range.
  void number(std::string_view name, double &out);
  void text(std::string_view name, std::string &out);
  /// Return a member that must be an array, or an object. Return nullptr if it
  /// is missing or has another type, which is an error.
  const ordered_json *array(std::string_view name);
  const ordered_json *members(std::string_view name);

  /// Keeps an error about a member if it is the first error.
  template <typename... Parts>
  void fail(std::string_view name, const Parts &...parts) {
    keep(invalidField(pathOf(name),
                      textFrom("'", pathOf(name), "' ", parts...)));
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
