//===- SchemaCompiler.h - JSON schemas as grammars ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to runtime/grammar.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_SCHEMACOMPILER_H
#define SLUICE_RUNTIME_GRAMMAR_SCHEMACOMPILER_H

#include "runtime/base/WorkMeter.h"
#include "runtime/grammar/GrammarBuilder.h"
#include "runtime/grammar/GrammarLimits.h"
#include "runtime/grammar/GrammarTables.h"
#include "runtime/grammar/JsonRules.h"
#include "runtime/grammar/SchemaConstraints.h"
#include "runtime/grammar/SchemaDocument.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sluice::grammar {

/// Schemas that hold together. `settled`: references and combinations of the
/// schema have been dealt with, only its own constraints count.
struct SchemaPart {
  SchemaNode node;
  bool settled = false;
};
using Conjunction = std::vector<SchemaPart>;

/// A conjunction with references followed and allOf taken apart: schemas that
/// all hold, and for each anyOf or oneOf its list, of which one must hold.
struct ExpandedSchema {
  std::vector<SchemaNode> constraints;
  struct Choice {
    SchemaNode list;
    bool exclusive; ///< oneOf
  };
  std::vector<Choice> choices;
  bool never = false;    ///< a schema is `false`
  bool followed = false; ///< there was a reference
};

/// Members of an object that have values of one schema.
struct MemberSchema {
  std::string name;                ///< of a declared member
  std::optional<SizedTexts> names; ///< of others; nothing: any string
  bool declared = false;
  bool required = false;
  Conjunction value;
};

/// How many members of an object count, and up to where they are counted.
struct MemberCount {
  uint64_t min = 0;
  std::optional<uint64_t> max;
  size_t limit = 1; ///< counts from here on are the same

  /// Declared members that there must be before others come.
  size_t minDeclared() const {
    return min > 0 ? static_cast<size_t>(min - 1) : 0;
  }
  /// The count after one more member, or nothing where there may be no more.
  std::optional<size_t> next(size_t count) const {
    if (max && count >= *max)
      return std::nullopt;
    return std::min(count + 1, limit);
  }
};

/// How many items of an array there are.
struct ItemCount {
  uint64_t min = 0;
  std::optional<uint64_t> max;
};

/// Puts schemas into a builder. The functions that emit add edges out of
/// `from` and into `to` only, and none for a schema that nothing matches.
/// References become rules, so that recursion ends; everything else lies in
/// place. Thread-compatible; made for one document.
class SchemaCompiler {
public:
  /// Both outlive it.
  SchemaCompiler(const ordered_json &document, WorkMeter &meter)
      : root{&document, "#"}, builder(meter), json(builder), held(meter),
        meter(meter) {}

  Expected<GrammarTables> run();

private:
  // SchemaCompiler.cpp
  Status emit(const Conjunction &schema, BuilderState from, BuilderState to);
  Status emitRule(const ExpandedSchema &schema, BuilderState from,
                  BuilderState to);
  Status emitShared(const Conjunction &schema, BuilderState from,
                    BuilderState to);
  Status emitExpanded(const ExpandedSchema &schema, BuilderState from,
                      BuilderState to);
  Status emitChoices(const ExpandedSchema &schema, BuilderState from,
                     BuilderState to);
  Status emitConstraints(const Constraints &constraints, BuilderState from,
                         BuilderState to);
  Status emitNumber(const Constraints &constraints, BuilderState from,
                    BuilderState to);
  void emitAutomata(const NumberAutomata &numbers, BuilderState from,
                    BuilderState to);
  Status emitString(const Constraints &constraints, BuilderState from,
                    BuilderState to);
  Status checkWork();

  // SchemaExpand.cpp
  Expected<ExpandedSchema> expand(const Conjunction &schema);
  Status expandNode(const SchemaNode &given, ExpandedSchema &out);
  /// Each way to take one schema of each choice.
  Expected<std::vector<Conjunction>> alternatives(const ExpandedSchema &schema);

  // SchemaObject.cpp
  Status emitObject(const Constraints &constraints, BuilderState from,
                    BuilderState to);
  Status emitMembers(const std::vector<MemberSchema> &members,
                     const MemberCount &count, BuilderState from,
                     BuilderState to);
  Status emitMember(const MemberSchema &member, bool shared, BuilderState from,
                    BuilderState to);

  // SchemaMembers.cpp
  Expected<SizedTexts> allowedNames(const Constraints &constraints);
  /// The declared members in their order, then the others.
  Expected<std::vector<MemberSchema>>
  readMembers(const Constraints &constraints);
  /// What holds for each of some members of an object by the schemas alone.
  Expected<std::vector<Conjunction>>
  membersOf(const Constraints &constraints,
            const std::vector<std::string> &names);

  // SchemaArray.cpp
  Status emitArray(const Constraints &constraints, BuilderState from,
                   BuilderState to);
  struct UniqueItems {
    std::vector<const ordered_json *> values;
    std::vector<std::vector<size_t>> choices; ///< [item]: numbers of values
  };
  Expected<UniqueItems> readUniqueItems(const SchemaNode &place,
                                        const std::vector<Conjunction> &items);
  Status emitUniqueItems(const SchemaNode &place, const UniqueItems &items,
                         const ItemCount &count, BuilderState from,
                         BuilderState to);
  /// The values that match; nothing: not just a few that are named.
  using ItemValues = std::optional<std::vector<const ordered_json *>>;
  Expected<ItemValues> valuesOf(const Conjunction &schema, size_t depth = 0);

  // SchemaExclusive.cpp
  /// A schema of a oneOf beside the one that is being written.
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
  Status emitExclusive(const ExpandedSchema &schema, BuilderState from,
                       BuilderState to);
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
  /// Members that an object must not have, and that it must.
  struct MemberChange {
    std::set<std::string> without, with;
  };
  Expected<std::vector<MemberChange>> waysApart(const Constraints &written,
                                                const Constraints &other);
  Conjunction changed(Conjunction written, const MemberChange &change);

  // SchemaOverlap.cpp
  using Comparison = Expected<bool> (SchemaCompiler::*)(const Constraints &,
                                                        const Constraints &,
                                                        size_t depth);
  Expected<bool> compareLeaves(const Conjunction &a, const Conjunction &b,
                               size_t depth, Comparison comparison);
  Expected<bool> excludes(const Conjunction &written, const Conjunction &other,
                          size_t depth);
  Expected<bool> leafExcludes(const Constraints &written,
                              const Constraints &other, size_t depth);
  Expected<bool> keepApart(const Conjunction &a, const Conjunction &b,
                           size_t depth);
  Expected<bool> leavesKeepApart(const Constraints &a, const Constraints &b,
                                 size_t depth);
  Expected<bool> objectsKeepApart(const Constraints &a, const Constraints &b,
                                  size_t depth);
  Expected<bool> objectExcludes(const Constraints &written,
                                const Constraints &other, size_t depth);

  SchemaNode root;
  GrammarBuilder builder;
  JsonRules json;

  /// What a rule stands for: the schemas and the choices, each with what it is
  /// within.
  using RuleKey = std::vector<const ordered_json *>;
  struct PendingRule {
    RuleId rule;
    ExpandedSchema schema;
  };
  std::map<RuleKey, RuleId> rules;
  std::vector<PendingRule> pending;
  HeldBytes held; ///< of both
  /// Schemas that the document has not; they stay where they are.
  std::deque<ordered_json> made;

  std::set<const ordered_json *> checked;
  // Of expand(): schemas that are being followed, and those that have been with
  // what they are within.
  std::vector<const ordered_json *> following;
  std::map<const ordered_json *, std::vector<const ordered_json *>> taken;
  size_t work = 0;
  WorkMeter &meter;
};

/// A part of `node` as a conjunction of its own.
inline Conjunction conjunctionOf(SchemaNode node) {
  return {{std::move(node), false}};
}

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_SCHEMACOMPILER_H
