//===- SchemaDocument.h - a JSON schema's values and places ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A JSON schema's values and their places. Internal to runtime/grammar.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_SCHEMADOCUMENT_H
#define SLUICE_RUNTIME_GRAMMAR_SCHEMADOCUMENT_H

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

/// A value of the document, with its JSON pointer as a URI fragment (`#/a/0`),
/// for messages: names in it that are long are cut short. The document outlives
/// it.
struct SchemaNode {
  const ordered_json *value = nullptr;
  std::string pointer;
  /// The schema, with an $id of its own, that it lies below and its references
  /// are of; null: the document. Its pointer is `basePointer`.
  const ordered_json *base = nullptr;
  std::string basePointer = {};
  /// Schemas that hold for the same value, ask for no unevaluated parts, and
  /// take what this one describes for evaluated; see closes().
  std::vector<const ordered_json *> within = {};

  SchemaNode member(std::string_view key) const;
  /// The same without looking for it, which takes long where there are many.
  SchemaNode member(std::string_view key, const ordered_json &found) const;
  SchemaNode item(size_t index) const;
  /// The same schema, as a part of `whole` that holds for the same value.
  SchemaNode asPartOf(const SchemaNode &whole) const;
  /// The member, or null.
  const ordered_json *find(std::string_view key) const;
  /// Whether the keyword, unevaluatedProperties or unevaluatedItems, is false.
  bool closes(std::string_view keyword) const;
  /// Whether uniqueItems is true.
  bool wantsUniqueItems() const;
  bool isWithin(const SchemaNode &whole) const;
  /// About the bytes that the node takes; none of them are the document's.
  size_t bytes() const {
    return sizeof(*this) + pointer.size() + basePointer.size() +
           within.size() * sizeof(void *);
  }

  /// "#/a: " and the parts.
  template <typename... Parts> Status refuse(const Parts &...parts) const {
    return failure("JSON schema ", pointer, ": ", parts...);
  }
};

/// Charges the meter. Errors: the work must end.
inline Status spendOnSchema(WorkMeter &meter, size_t steps = 1) {
  return meter.spend(steps).withContext("JSON schema");
}

/// Errors: it is neither an object nor a boolean, or has a keyword that is not
/// supported.
Status checkSchema(const SchemaNode &schema);

/// Whether it has keywords, other than references and combinations of schemas,
/// that say something about a value.
bool hasConstraints(const SchemaNode &schema);

/// What the $ref of `schema` refers to: a pointer begins at the nearest schema
/// above it that has an $id, else at the document. Errors: it leads out of the
/// document, or nowhere, or the meter ends the work.
Expected<SchemaNode> resolveReference(const SchemaNode &root,
                                      const SchemaNode &schema,
                                      WorkMeter &meter);

/// A member that must be a whole number, not negative; nothing where it is not
/// there. Errors: it is something else.
Expected<std::optional<uint64_t>> readCount(const SchemaNode &schema,
                                            std::string_view key);

/// A document, in a time in proportion to its length. Errors: it is not JSON,
/// or beyond the limits as with checkSize().
Expected<text::JsonTree> readSchema(std::string_view text);

/// Errors: the document is deeper, or has more values or members, than the
/// limits.
Status checkSize(const ordered_json &document);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_SCHEMADOCUMENT_H
