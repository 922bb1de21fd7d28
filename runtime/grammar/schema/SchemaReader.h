//===- SchemaReader.h - what the schemas of a document say ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAREADER_H
#define SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAREADER_H

#include "runtime/grammar/schema/SchemaBudget.h"
#include "runtime/grammar/schema/SchemaParts.h"

#include <map>
#include <set>

namespace sluice::grammar {

/// Follows the references of a document's schemas, splits their combinations,
/// and finds the members and values that they allow. Thread-compatible.
class SchemaReader {
public:
  /// Both must outlive the reader.
  SchemaReader(const ordered_json &document, SchemaBudget &budget)
      : document{&document, "#"}, budget(budget), meter(budget.meter()) {}

  /// The whole document.
  const SchemaNode &root() const { return document; }

  /// Follows references, splits allOf, and finds the choices of anyOf and
  /// oneOf.
  Expected<ExpandedSchema> expand(const Conjunction &schema);
  /// Returns each way to choose one schema of each choice.
  Expected<std::vector<Conjunction>> alternatives(const ExpandedSchema &schema);

  /// Returns the members that an object may have: the declared ones in their
  /// order, then the others.
  Expected<std::vector<MemberSchema>>
  readMembers(const Constraints &constraints);
  /// Returns, for each of some members of an object, the schemas that hold for
  /// its value.
  Expected<std::vector<Conjunction>>
  membersOf(const Constraints &constraints,
            const std::vector<std::string> &names);

  /// The values that match; not set if they are not a few named values.
  using Values = std::optional<std::vector<const ordered_json *>>;
  Expected<Values> valuesOf(const Conjunction &schema, size_t depth = 0);

private:
  Status expandNode(const SchemaNode &given, ExpandedSchema &out);
  Expected<SizedTexts> allowedNames(const Constraints &constraints);

  SchemaNode document;
  SchemaBudget &budget;
  WorkMeter &meter;
  std::set<const ordered_json *> checked;
  // The state of expand(): the schemas that are being followed, and those that
  // were followed, with the schemas that they are within.
  std::vector<const ordered_json *> following;
  std::map<const ordered_json *, std::vector<const ordered_json *>> taken;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAREADER_H
