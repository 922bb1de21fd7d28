//===- SchemaExclusive.h - oneOf: one schema and no other -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAEXCLUSIVE_H
#define SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAEXCLUSIVE_H

#include "runtime/grammar/schema/SchemaOverlap.h"
#include "runtime/grammar/schema/SchemaWriter.h"

#include <deque>

namespace sluice::grammar {

/// Writes schemas of which a value must match one and no other. A grammar
/// cannot look at a value twice. So oneOf becomes a choice like anyOf, where
/// each schema only writes what no other schema may match: the remaining
/// values, numbers or strings, and objects that lack a member which the other
/// schema requires or have one that it forbids. If this cannot be decided, the
/// schema is refused. Thread-compatible.
class ExclusiveWriter {
public:
  /// Both must outlive the object. Schemas that are not in the document are
  /// added to `made`, because rules refer to them.
  ExclusiveWriter(const SchemaTarget &target, SchemaWriter &writer,
                  std::deque<ordered_json> &made)
      : target(target), writer(writer), made(made), json(target.json),
        reader(target.reader), meter(target.meter),
        overlap(target.reader, target.meter) {}

  /// Adds edges for a schema with choices of which one is a oneOf.
  Status emit(const ExpandedSchema &schema, BuilderState from, BuilderState to);

private:
  /// A schema of a oneOf other than the one that is being written.
  struct Sibling {
    SchemaNode list;
    size_t written;
    size_t index;
    Conjunction schema;
    Status refuse() const;
  };
  struct LeafSibling {
    const Sibling *of;
    Constraints constraints;
  };
  Expected<Constraints> readLeaf(const ExpandedSchema &leaf,
                                 const Sibling &sibling);
  Status emitApart(const Conjunction &written, std::vector<Sibling> siblings,
                   size_t depth, BuilderState from, BuilderState to);
  Status emitChoicesApart(const ExpandedSchema &written,
                          const std::vector<Sibling> &siblings, size_t depth,
                          BuilderState from, BuilderState to);
  Expected<bool> mayMatchTwice(const ExpandedSchema &schema);
  Status splitSibling(const Sibling &sibling, const Conjunction &part,
                      size_t depth, std::vector<LeafSibling> &leaves);
  Status emitTypesApart(const Conjunction &written,
                        const Constraints &constraints,
                        const std::vector<LeafSibling> &siblings,
                        BuilderState from, BuilderState to);
  Status emitValuesApart(const std::vector<const ordered_json *> &values,
                         const std::vector<LeafSibling> &siblings,
                         BuilderState from, BuilderState to);
  Status emitNumbersApart(const Constraints &constraints,
                          const std::vector<LeafSibling> &siblings,
                          BuilderState from, BuilderState to);
  Expected<std::vector<SizedTexts>>
  stringsApart(const std::vector<SizedTexts> &sets, const SizedTexts &other,
               const Sibling &sibling);
  Status emitStringsApart(const Constraints &constraints,
                          const std::vector<LeafSibling> &siblings,
                          BuilderState from, BuilderState to);
  Status emitObjectsApart(const Conjunction &written,
                          const Constraints &constraints,
                          const std::vector<LeafSibling> &siblings,
                          BuilderState from, BuilderState to);
  /// The members that an object must not have, and those that it must have.
  struct MemberChange {
    std::set<std::string> without, with;
  };
  Expected<std::vector<MemberChange>> waysApart(const Constraints &written,
                                                const Constraints &other);
  Conjunction changed(Conjunction written, const MemberChange &change);

  const SchemaTarget &target;
  SchemaWriter &writer;
  std::deque<ordered_json> &made;
  JsonRules &json;
  SchemaReader &reader;
  WorkMeter &meter;
  SchemaOverlap overlap;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAEXCLUSIVE_H
