//===- Options.h - strict reader of a model's configuration ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a model's configuration, which is a table of keys and values from
// config.json or GGUF metadata. The reader asks for the keys that it knows. Any
// other key could change what the model computes, so finish() fails with its
// name, unless the value is null or false, which turns an option off.
//
// The functions that read a value always return one: for a value that is
// missing or of the wrong kind they return a harmless stand-in, and finish()
// returns the first such error.
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
  /// A value that no option can have. Its description is for messages.
  struct Other {
    std::string description;
  };

  std::variant<std::monostate, bool, int64_t, double, std::string, List, Table,
               Other>
      held;

  bool isNull() const { return held.index() == 0; }
  /// Returns a description for messages: "the string 'x'", "a list".
  std::string describe() const;
};

/// Holds the keys and values of one configuration and the set of keys that have
/// been asked for. Not thread-safe.
class Options {
public:
  /// Every message begins with `place`, such as "model/config.json".
  Options(std::string place, OptionValue::Table values)
      : place(std::move(place)), values(std::move(values)) {}

  /// Makes options of a JSON object.
  static Options fromJSON(std::string place, const nlohmann::json &object);
  /// Makes options of the metadata keys that begin with `prefix`, which is
  /// removed from them.
  static Options fromGGUF(const gguf::GGUFFile &file, std::string_view prefix);

  /// Returns whether the key is present and not null.
  bool has(std::string_view key);
  /// Returns whether the key is present, even if null. Some models treat null
  /// differently from an absent key.
  bool isGiven(std::string_view key) const { return values.contains(key); }

  /// Returns all keys.
  std::vector<std::string> keys() const;

  /// Reads an integer from 1 to 2^31 - 1. Here and below, a key without a
  /// fallback is required.
  int64_t count(std::string_view key, std::optional<int64_t> fallback = {});
  /// Reads an integer from 0 to 2^31 - 1.
  int64_t natural(std::string_view key, std::optional<int64_t> fallback = {});
  /// Reads a finite number.
  double number(std::string_view key, std::optional<double> fallback = {});
  bool flag(std::string_view key, bool fallback);
  std::string text(std::string_view key,
                   const std::optional<std::string> &fallback = {});
  /// Reads a list of strings, which is empty if the key is absent.
  std::vector<std::string> texts(std::string_view key);
  /// Reads one integer or a list of integers, none negative. Empty if the key
  /// is absent.
  std::vector<int64_t> naturals(std::string_view key);
  /// Reads one integer or a list of integers of any sign. They are numbers of
  /// tokens, and a file may use one that stands for no token.
  std::vector<int64_t> tokenIds(std::string_view key);
  /// Reads one integer or a list of equal integers. The format lets such a size
  /// differ from layer to layer, but in supported models it does not.
  int64_t uniformCount(std::string_view key,
                       std::optional<int64_t> fallback = {});
  /// Returns a nested table, which is empty if the key is absent. It is owned
  /// by this object, whose finish() checks it too.
  Options &table(std::string_view key);

  /// These accept an option only if its value is `wanted`, absent or null.
  void mustBeFlag(std::string_view key, bool wanted);
  void mustBeNumber(std::string_view key, double wanted);
  void mustBeText(std::string_view key, std::string_view wanted);

  /// Ignores keys that do not change what the model computes.
  void ignore(std::initializer_list<std::string_view> keys);
  /// Ignores all keys that have not been asked for.
  void ignoreOthers();
  /// Makes `reason` about `key` the error, unless there is one already.
  void refuse(std::string_view key, const std::string &reason);

  /// Returns the first error, or else an error about the first key, in sorted
  /// order, that was not asked for.
  Status finish();

private:
  /// Returns the value and marks it as asked for. Returns null if it is absent
  /// or null.
  const OptionValue *take(std::string_view key);
  /// Like take(), but notes an error if the value is absent and `required`.
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
