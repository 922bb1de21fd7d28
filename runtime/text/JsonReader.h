//===- JsonReader.h - JSON from outside -----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// JSON from outside, in a time in proportion to its length: nlohmann's own
// builder looks for each key among all before it, which takes long in large
// objects, and knows no limits.
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
  size_t depth;         ///< of objects and arrays in each other
  size_t values;        ///< of all
  size_t objectMembers; ///< of one object
  /// Of memory that the value takes, but for what its allocator adds.
  size_t treeBytes;
};

/// Why there is no value.
struct JsonError {
  enum class Kind : uint8_t {
    Encoding, ///< it is not UTF-8
    Syntax,
    Number, ///< no double can hold it
    Depth,
    Values,
    ObjectMembers,
    TreeBytes
  };
  Kind kind;
  size_t byte = 0;         ///< Syntax: the first that is wrong, from 1 on
  std::string place = {};  ///< Number: "a[1].b"; empty: the whole
  std::string number = {}; ///< Number
};

/// Reads JSON in UTF-8. The last one counts where an object has a key twice.
std::variant<JsonTree, JsonError> readJson(std::string_view text,
                                           const JsonLimits &limits);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_JSONREADER_H
