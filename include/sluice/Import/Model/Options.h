//===- Options.h - a model's configuration, read to the last key ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A configuration is keys and values, from config.json or from GGUF metadata.
// Whoever reads it asks for the keys it knows; a key that nobody asked for
// could change what the model computes, so finish() refuses it by name, unless
// its value is null or false: an option that is off.
//
// Reading never stops: a value that is missing or of another kind yields a
// harmless stand-in, and finish() returns the first such error.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_IMPORT_MODEL_OPTIONS_H
#define SLUICE_IMPORT_MODEL_OPTIONS_H

#include "runtime/base/Status.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice::gguf {
class GGUFFile;
}

namespace sluice::importer {

/// A value of a configuration.
struct OptionValue {
  using List = std::vector<OptionValue>;
  using Table = std::map<std::string, OptionValue, std::less<>>;
  /// What no option is: its description, for messages.
  struct Other {
    std::string description;
  };

  std::variant<std::monostate, bool, int64_t, double, std::string, List, Table,
               Other>
      held;

  bool isNull() const { return held.index() == 0; }
  /// "the string 'x'", "a list", ... for messages.
  std::string describe() const;
};

/// The keys and values of one configuration, and which of them were asked for.
/// Not thread-safe.
class Options {
public:
  /// `place` begins every message: "model/config.json".
  Options(std::string place, OptionValue::Table values)
      : place(std::move(place)), values(std::move(values)) {}

  /// From a JSON object.
  static Options fromJSON(std::string place, const nlohmann::json &object);
  /// From the metadata keys that begin with `prefix`, which is taken off.
  static Options fromGGUF(const gguf::GGUFFile &file, std::string_view prefix);

  /// Whether the key is there and not null.
  bool has(std::string_view key);
  /// Whether the key is there at all: to some models null is not the default.
  bool isGiven(std::string_view key) const { return values.contains(key); }

  /// All keys that are there.
  std::vector<std::string> keys() const;

  /// An integer from 1 to 2^31 - 1. Without a fallback the key is required.
  int64_t count(std::string_view key, std::optional<int64_t> fallback = {});
  /// An integer from 0 to 2^31 - 1.
  int64_t natural(std::string_view key, std::optional<int64_t> fallback = {});
  /// A finite number.
  double number(std::string_view key, std::optional<double> fallback = {});
  bool flag(std::string_view key, bool fallback);
  std::string text(std::string_view key,
                   const std::optional<std::string> &fallback = {});
  /// A list of strings; empty where the key is absent.
  std::vector<std::string> texts(std::string_view key);
  /// One integer or a list of them, none negative; empty where absent.
  std::vector<int64_t> naturals(std::string_view key);
  /// The same with any integers: numbers of tokens, which may be of none.
  std::vector<int64_t> tokenIds(std::string_view key);
  /// One integer, or a list of equal ones: a size that a format allows to
  /// differ from layer to layer, where no supported model's does.
  int64_t uniformCount(std::string_view key,
                       std::optional<int64_t> fallback = {});
  /// A nested table, empty where the key is absent. It lives as long as this
  /// object, whose finish() finishes it too.
  Options &table(std::string_view key);

  /// Accepts an option only where its value is `wanted` (or absent or null).
  void mustBeFlag(std::string_view key, bool wanted);
  void mustBeNumber(std::string_view key, double wanted);
  void mustBeText(std::string_view key, std::string_view wanted);

  /// Keys that change nothing about what the model computes.
  void ignore(std::initializer_list<std::string_view> keys);
  /// All keys that have not been asked for.
  void ignoreOthers();
  /// Makes `reason` about `key` the error, unless there already is one.
  void refuse(std::string_view key, const std::string &reason);

  /// The first error, or the first key (in sorted order) not asked for.
  Status finish();

private:
  /// The value, marked as asked for; null where it is absent or null.
  const OptionValue *take(std::string_view key);
  /// The same, and where it is absent and `required`, an error.
  const OptionValue *take(std::string_view key, bool required);
  void wrongKind(std::string_view key, std::string_view wanted,
                 const OptionValue &found);
  int64_t integer(std::string_view key, std::optional<int64_t> fallback,
                  int64_t min);
  std::vector<int64_t> integers(std::string_view key, int64_t min, int64_t max,
                                std::string_view wanted);

  std::string place;
  OptionValue::Table values;
  std::set<std::string, std::less<>> asked;
  std::map<std::string, std::unique_ptr<Options>, std::less<>> tables;
  Status firstError;
};

} // namespace sluice::importer

#endif // SLUICE_IMPORT_MODEL_OPTIONS_H
