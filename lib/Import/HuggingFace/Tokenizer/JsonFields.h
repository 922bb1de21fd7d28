//===- JsonFields.h - strict reader of a JSON object's fields -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_IMPORT_HUGGINGFACE_TOKENIZER_JSONFIELDS_H
#define SLUICE_LIB_IMPORT_HUGGINGFACE_TOKENIZER_JSONFIELDS_H

#include "sluice/Import/Support/JSON.h"

#include <optional>
#include <set>
#include <string>

namespace sluice::hf {

/// Reads an object's fields by name and keeps the first error; after an error
/// the getters return empty values. finish() fails on every field that was not
/// asked for, since an unknown field may change the result.
class JsonFields {
public:
  /// `place` is the object's path for messages, such as "model". If `object` is
  /// not a JSON object, that is the first error.
  JsonFields(const nlohmann::json &object, std::string place);

  /// Returns null if the field is absent or null.
  const nlohmann::json *find(const char *name);

  /// Returns the field, which must be present. Returns an empty value after an
  /// error.
  const nlohmann::json &get(const char *name);
  const nlohmann::json &array(const char *name);

  std::string string(const char *name);
  std::optional<std::string> optionalString(const char *name);
  bool flag(const char *name);
  bool flag(const char *name, bool otherwise);
  uint32_t number(const char *name);

  /// Returns the path of a field, for messages and for the fields inside it.
  std::string at(std::string_view name) const;

  /// Marks a field as known. It must not change any result.
  void ignore(const char *name) { asked.insert(name); }

  /// Keeps the error `place.name: reason` unless there is one already.
  void fail(std::string_view name, std::string_view reason);
  void keep(const Status &error);
  bool ok() const { return status.ok(); }
  /// Returns the first error so far.
  const Status &error() const { return status; }

  Status finish();

private:
  const nlohmann::json *object;
  std::string place;
  std::set<std::string, std::less<>> asked;
  Status status;
};

} // namespace sluice::hf

#endif // SLUICE_LIB_IMPORT_HUGGINGFACE_TOKENIZER_JSONFIELDS_H
