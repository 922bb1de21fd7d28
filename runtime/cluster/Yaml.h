//===- Yaml.h - YAML as a tree with line numbers --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses YAML to a small tree in which every value knows its line, so that
// readers can report where an error is. yaml-cpp and its exceptions are hidden
// behind this header.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CLUSTER_YAML_H
#define SLUICE_RUNTIME_CLUSTER_YAML_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::cluster {

/// A value: text, a list, or a map in the order of its keys.
struct YamlValue {
  enum class Kind : uint8_t { Null, Scalar, List, Map };
  Kind kind = Kind::Null;
  int64_t line = 0; ///< counted from 1
  std::string text; ///< for Scalar
  std::vector<YamlValue> items;
  struct Entry;
  std::vector<Entry> entries;

  /// Returns the kind for messages: "a list".
  std::string_view kindName() const;
  /// Returns the value of a key, or nullptr.
  const YamlValue *find(std::string_view key) const;
};

struct YamlValue::Entry {
  std::string key;
  int64_t line = 0;
  YamlValue value;
};

constexpr int64_t maxYamlBytes = 1 << 20;
constexpr int64_t maxYamlDepth = 16;
constexpr int64_t maxYamlValues = 100000;

/// Parses the single document of `text`; `name` is the file's name in messages.
/// Fails if it is not YAML, exceeds the limits above, has several documents,
/// keys that are not text or occur twice, or has aliases or tags (with which a
/// file of a few hundred bytes can stand for gigabytes, and which no
/// description needs).
Expected<YamlValue> parseYaml(std::string_view text, const std::string &name);

/// Returns failure("NAME:LINE: ...").
template <typename... Parts>
Status failureAt(const std::string &name, int64_t line, const Parts &...parts) {
  return failure(name, ":", line, ": ", parts...);
}

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_YAML_H
