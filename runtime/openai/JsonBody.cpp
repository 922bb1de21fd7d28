//===- JsonBody.cpp - parsing of untrusted JSON ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/JsonBody.h"

#include "runtime/text/JsonReader.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::openai;

/// The limit of members of one object, since readers search them one by one.
static constexpr size_t maxMembers = 1 << 16;

/// Converts an error of the field at `path`, or of the body if it is empty.
static ApiError toApiError(const text::JsonError &error,
                           const RequestLimits &limits, std::string path) {
  using Kind = text::JsonError::Kind;
  const std::string subject = path.empty() ? "the body" : "'" + path + "'";
  auto fail = [&](const std::string &what) {
    return invalidField(path, subject + what);
  };
  switch (error.kind) {
  case Kind::Encoding:
    return fail(" is not UTF-8");
  case Kind::Syntax:
    break;
  case Kind::Number:
    if (!path.empty() && !error.place.empty() && error.place[0] != '[')
      path += '.';
    path += error.place;
    return invalidField(path, "'" + path + "' is a number that is too large: " +
                                  error.number.substr(0, 40));
  case Kind::Depth:
    return fail(" has more than " + std::to_string(limits.depth) +
                " objects and arrays in each other");
  case Kind::Values:
    return fail(" has more than " + std::to_string(limits.values) + " values");
  case Kind::ObjectMembers:
    return invalidField("", "an object has more than " +
                                std::to_string(maxMembers) + " members");
  case Kind::TreeBytes:
    return {.status = 413,
            .message = subject +
                       " has so many small values that they take "
                       "more than " +
                       std::to_string(limits.treeTimes) +
                       " times its size in memory",
            .param = path};
  }
  return fail(" is not JSON: byte " + std::to_string(error.byte) + " is wrong");
}

ApiExpected<text::JsonTree> openai::parseJson(std::string_view text,
                                              const RequestLimits &limits,
                                              std::string_view path) {
  std::string subject =
      path.empty() ? "the body" : "'" + std::string(path) + "'";
  if (text.size() > limits.bodyBytes)
    return ApiError{413,
                    subject + " has " + std::to_string(text.size()) +
                        " bytes, more than " + std::to_string(limits.bodyBytes),
                    std::string(path)};
  auto read = text::readJson(
      text, {.depth = limits.depth,
             .values = limits.values,
             .objectMembers = maxMembers,
             .treeBytes = std::max(limits.smallTreeBytes,
                                   limits.treeTimes * text.size())});
  if (auto *error = std::get_if<text::JsonError>(&read))
    return toApiError(*error, limits, std::string(path));
  return std::get<text::JsonTree>(std::move(read));
}

ApiExpected<text::JsonTree> openai::parseBody(std::string_view body,
                                              const RequestLimits &limits) {
  if (body.empty())
    return invalidField("", "the body is empty; it must be a JSON object");
  ApiExpected<text::JsonTree> value = parseJson(body, limits);
  if (value && !value->root().is_object())
    return invalidField("", "the body is " +
                                std::string(typeName(value->root())) +
                                ", not an object");
  return value;
}

std::string openai::dumpJson(const ordered_json &value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}
