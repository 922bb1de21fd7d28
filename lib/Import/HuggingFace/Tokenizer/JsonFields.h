//===- JsonFields.h - an object's fields, each used or refused ------------===//
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
/// the getters return empty values. `finish` refuses every field that nobody
/// asked for: a field that is not known may change the result.
class JsonFields {
public:
  /// `place` is the object's path for messages, such as "model". A value that
  /// is no object is an error.
  JsonFields(const nlohmann::json &object, std::string place);

  /// Null where the field is absent or null.
  const nlohmann::json *find(const char *name);

  /// The field, which must be there. An empty value stands for it after an
  /// error.
  const nlohmann::json &get(const char *name);
  const nlohmann::json &array(const char *name);

  std::string string(const char *name);
  std::optional<std::string> optionalString(const char *name);
  bool flag(const char *name);
  bool flag(const char *name, bool otherwise);
  uint32_t number(const char *name);

  /// The place of a field, for messages and for the fields inside it.
  std::string at(std::string_view name) const;

  /// Marks a field as known, and as one that changes no result.
  void ignore(const char *name) { asked.insert(name); }

  /// Keeps the error `place.name: reason` unless there is one.
  void fail(std::string_view name, std::string_view reason);
  void keep(const Status &error);
  bool ok() const { return status.ok(); }
  /// The first error so far.
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
