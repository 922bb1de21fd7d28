//===- SchemaDocument.h - values and places of a JSON schema --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Access to the values of a JSON schema and their places. Internal to
// runtime/grammar.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMADOCUMENT_H
#define SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMADOCUMENT_H

#include "runtime/base/Status.h"
#include "runtime/base/WorkMeter.h"
#include "runtime/text/JsonTree.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::grammar {

using nlohmann::ordered_json;

inline constexpr std::string_view unevaluatedProperties =
    "unevaluatedProperties";
inline constexpr std::string_view unevaluatedItems = "unevaluatedItems";

/// A value of the document, with its JSON pointer as a URI fragment (`#/a/0`)
/// for messages, in which long names are truncated. The document must outlive
/// it.
struct SchemaNode {
  const ordered_json *value = nullptr;
  std::string pointer;
  /// The schema with an $id above this value, to which references below it are
  /// relative; null for the document. Its pointer is `basePointer`.
  const ordered_json *base = nullptr;
  std::string basePointer = {};
  /// Schemas that hold for the same value, forbid unevaluated parts, and count
  /// what this schema describes as evaluated; see closes().
  std::vector<const ordered_json *> within = {};

  SchemaNode member(std::string_view key) const;
  /// Like member() above, without the search, which is slow among many members.
  SchemaNode member(std::string_view key, const ordered_json &found) const;
  SchemaNode item(size_t index) const;
  /// Returns the same schema, as a part of `whole` that holds for the same
  /// value.
  SchemaNode asPartOf(const SchemaNode &whole) const;
  /// Returns the member, or null.
  const ordered_json *find(std::string_view key) const;
  /// Returns whether `keyword`, unevaluatedProperties or unevaluatedItems, is
  /// false.
  bool closes(std::string_view keyword) const;
  /// Returns whether uniqueItems is true.
  bool wantsUniqueItems() const;
  bool isWithin(const SchemaNode &whole) const;
  /// Returns about how many bytes the node takes, without the document.
  size_t bytes() const {
    return sizeof(*this) + pointer.size() + basePointer.size() +
           within.size() * sizeof(void *);
  }

  /// Returns an error of "#/a: " and `parts`.
  template <typename... Parts> Status refuse(const Parts &...parts) const {
    return failure("JSON schema ", pointer, ": ", parts...);
  }
};

/// Charges the meter. Errors: the work must end.
inline Status spendOnSchema(WorkMeter &meter, size_t steps = 1) {
  return meter.spend(steps).withContext("JSON schema");
}

/// Checks a schema. Errors: it is neither an object nor a boolean, or has a
/// keyword that is not supported.
Status checkSchema(const SchemaNode &schema);

/// Returns whether the schema constrains a value by keywords other than
/// references and combinations of schemas.
bool hasConstraints(const SchemaNode &schema);

/// Returns the target of the $ref of `schema`. A pointer starts at the nearest
/// schema above it that has an $id, else at the document. Errors: it leads out
/// of the document or nowhere, or the meter ends the work.
Expected<SchemaNode> resolveReference(const SchemaNode &root,
                                      const SchemaNode &schema,
                                      WorkMeter &meter);

/// Reads a member that must be a nonnegative whole number; nothing if it is
/// missing. Errors: it is something else.
Expected<std::optional<uint64_t>> readCount(const SchemaNode &schema,
                                            std::string_view key);

/// Parses a document in a time proportional to its length. Errors: it is not
/// JSON, or exceeds the limits of checkSize().
Expected<text::JsonTree> readSchema(std::string_view text);

/// Errors: the document is deeper, or has more values or members, than the
/// limits allow.
Status checkSize(const ordered_json &document);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMADOCUMENT_H
