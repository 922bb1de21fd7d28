//===- JsonReader.h - reads untrusted JSON with limits --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads JSON from outside in a time proportional to its length. nlohmann's own
// builder compares each key with all keys before it, which is slow for large
// objects, and has no limits.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_JSONREADER_H
#define SLUICE_RUNTIME_TEXT_JSONREADER_H

#include "runtime/text/JsonTree.h"

#include <string>
#include <string_view>
#include <variant>

namespace sluice::text {

struct JsonLimits {
  size_t depth;         ///< of objects and arrays inside each other
  size_t values;        ///< of the whole text
  size_t objectMembers; ///< of one object
  /// The memory of the value in bytes, without what its allocator adds.
  size_t treeBytes;
};

/// The reason why there is no value.
struct JsonError {
  enum class Kind : uint8_t {
    Encoding, ///< the text is not UTF-8
    Syntax,
    Number, ///< no double can hold it
    Depth,
    Values,
    ObjectMembers,
    TreeBytes
  };
  Kind kind;
  /// For Syntax: the first wrong byte, counted from 1.
  size_t byte = 0;
  /// For Number: its place as in "a[1].b"; empty for the whole text.
  std::string place = {};
  std::string number = {}; ///< for Number: its text
};

/// Reads JSON in UTF-8. If an object has a key twice, the last value counts.
std::variant<JsonTree, JsonError> readJson(std::string_view text,
                                           const JsonLimits &limits);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_JSONREADER_H
