//===- YamlFields.h - checked reading of a YAML map -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the keys of a map in a YAML file, checks the types of their values, and
// reports errors with file and line.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CLUSTER_YAMLFIELDS_H
#define SLUICE_RUNTIME_CLUSTER_YAMLFIELDS_H

#include "runtime/base/Status.h"
#include "runtime/cluster/Units.h"
#include "runtime/cluster/Yaml.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cluster {

/// Reads one map. The first error is kept in `status`; reading goes on and
/// leaves values unchanged, so that callers check once at the end.
class YamlFields {
public:
  YamlFields(const YamlValue &map, const std::string &file, const char *what,
             std::initializer_list<std::string_view> keys, Status &status)
      : map(map), file(file), what(what), status(status) {
    if (map.kind != YamlValue::Kind::Map)
      fail(map.line, what, " must be a map, found ", map.kindName());
    for (const YamlValue::Entry &entry : map.entries)
      if (std::find(keys.begin(), keys.end(), entry.key) == keys.end()) {
        std::string known;
        for (std::string_view key : keys)
          known += (known.empty() ? "" : ", ") + std::string(key);
        fail(entry.line, what, " has no '", entry.key, "': expected one of ",
             known);
      }
  }

  bool has(std::string_view key) const { return map.find(key); }

  /// Returns the value of a key, which must exist.
  const YamlValue *require(std::string_view key) {
    const YamlValue *value = map.find(key);
    if (!value)
      fail(map.line, what, " needs '", key, "'");
    return value;
  }

  void read(std::string_view key, std::string &out) {
    if (const YamlValue *value = scalar(key))
      out = value->text;
  }
  void read(std::string_view key, bool &out) {
    read(key, out, parseFlag, "true or false");
  }
  void read(std::string_view key, int64_t &out) {
    read(key, out, parseInteger, "a whole number");
  }
  void read(std::string_view key, double &out) {
    read(key, out, parseNumber, "a number");
  }
  void read(std::string_view key, Quantity quantity, double &out) {
    if (const YamlValue *value = scalar(key)) {
      Expected<double> number = parseQuantity(value->text, quantity);
      if (number)
        out = *number;
      else
        fail(value->line, "'", key, "': ", number.status().message());
    }
  }

  /// Returns the items of a list, which must exist and not be empty.
  std::vector<const YamlValue *> list(std::string_view key) {
    std::vector<const YamlValue *> items;
    if (const YamlValue *value = require(key)) {
      if (value->kind != YamlValue::Kind::List || value->items.empty())
        fail(value->line, "'", key, "' must be a list that is not empty");
      for (const YamlValue &item : value->items)
        items.push_back(&item);
    }
    return items;
  }

  template <typename... Parts> void fail(int64_t line, const Parts &...parts) {
    if (status.ok())
      status = failureAt(file, line, parts...);
  }

private:
  static std::optional<bool> parseFlag(std::string_view text) {
    if (text == "true" || text == "false")
      return text == "true";
    return std::nullopt;
  }

  /// `kind` describes what `parse` accepts.
  template <typename T>
  void read(std::string_view key, T &out,
            std::optional<T> (*parse)(std::string_view), const char *kind) {
    const YamlValue *value = scalar(key);
    if (!value)
      return;
    if (std::optional<T> parsed = parse(value->text))
      out = *parsed;
    else
      fail(value->line, "'", key, "' is '", value->text, "', not ", kind);
  }

  const YamlValue *scalar(std::string_view key) {
    const YamlValue *value = map.find(key);
    if (value && value->kind != YamlValue::Kind::Scalar) {
      fail(value->line, "'", key, "' must be one value, found ",
           value->kindName());
      return nullptr;
    }
    return value;
  }

  const YamlValue &map;
  const std::string &file;
  const char *what;
  Status &status;
};

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_YAMLFIELDS_H
