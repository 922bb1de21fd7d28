//===- SchemaCompiler.h - compiles JSON schemas to grammars ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler behind JsonSchema.h. Internal to runtime/grammar.
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

/// One of the schemas of a conjunction. If it is `settled`, its references and
/// combinations have been handled, and only its own constraints count.
struct SchemaPart {
  SchemaNode node;
  bool settled = false;
};
using Conjunction = std::vector<SchemaPart>;

/// A conjunction after its references were followed and its allOf were split:
/// the schemas that all must hold, and for each anyOf or oneOf the list of
/// schemas of which one must hold.
struct ExpandedSchema {
  std::vector<SchemaNode> constraints;
  struct Choice {
    SchemaNode list;
    bool exclusive; ///< oneOf
  };
  std::vector<Choice> choices;
  bool never = false;    ///< a schema is `false`
  bool followed = false; ///< a reference was followed
};

/// The members of an object whose values have the same schema.
struct MemberSchema {
  std::string name; ///< for a declared member
  /// For other members; not set for any string.
  std::optional<SizedTexts> names;
  bool declared = false;
  bool required = false;
  Conjunction value;
};

/// The bounds of an object's number of members.
struct MemberCount {
  uint64_t min = 0;
  std::optional<uint64_t> max;
  size_t limit = 1; ///< higher counts are treated like this one

  /// Returns how many declared members there must be before others come.
  size_t minDeclared() const {
    return min > 0 ? static_cast<size_t>(min - 1) : 0;
  }
  /// Returns the count after one more member; nothing if no more are allowed.
  std::optional<size_t> next(size_t count) const {
    if (max && count >= *max)
      return std::nullopt;
    return std::min(count + 1, limit);
  }
};

/// The bounds of an array's number of items.
struct ItemCount {
  uint64_t min = 0;
  std::optional<uint64_t> max;
};

/// Adds schemas to a builder. Functions named emit... only add edges out of
/// `from` and into `to`, and none for a schema that no value matches.
/// References become rules, so that recursion ends; everything else is inlined.
/// Thread-compatible; made for one document.
class SchemaCompiler {
public:
  /// Both arguments must outlive the compiler.
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
  /// Returns each way to choose one schema of each choice.
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
  /// Returns the declared members in their order, then the others.
  Expected<std::vector<MemberSchema>>
  readMembers(const Constraints &constraints);
  /// Returns, for each of some members of an object, the schemas that hold for
  /// its value.
  Expected<std::vector<Conjunction>>
  membersOf(const Constraints &constraints,
            const std::vector<std::string> &names);

  // SchemaArray.cpp
  Status emitArray(const Constraints &constraints, BuilderState from,
                   BuilderState to);
  struct UniqueItems {
    std::vector<const ordered_json *> values;
    std::vector<std::vector<size_t>> choices; ///< [item]: indices into `values`
  };
  Expected<UniqueItems> readUniqueItems(const SchemaNode &place,
                                        const std::vector<Conjunction> &items);
  Status emitUniqueItems(const SchemaNode &place, const UniqueItems &items,
                         const ItemCount &count, BuilderState from,
                         BuilderState to);
  /// The values that match; not set if they are not a few named values.
  using ItemValues = std::optional<std::vector<const ordered_json *>>;
  Expected<ItemValues> valuesOf(const Conjunction &schema, size_t depth = 0);

  // SchemaExclusive.cpp
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
  /// The members that an object must not have, and those that it must have.
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

  /// The key of a rule: its schemas and choices, each with the schemas that it
  /// is within.
  using RuleKey = std::vector<const ordered_json *>;
  struct PendingRule {
    RuleId rule;
    ExpandedSchema schema;
  };
  std::map<RuleKey, RuleId> rules;
  std::vector<PendingRule> pending;
  HeldBytes held; ///< the bytes of `rules` and `pending`
  /// Schemas that are not in the document. Their addresses do not change.
  std::deque<ordered_json> made;

  std::set<const ordered_json *> checked;
  // The state of expand(): the schemas that are being followed, and those that
  // were followed, with the schemas that they are within.
  std::vector<const ordered_json *> following;
  std::map<const ordered_json *, std::vector<const ordered_json *>> taken;
  size_t work = 0;
  WorkMeter &meter;
};

/// Returns a conjunction of `node` alone.
inline Conjunction conjunctionOf(SchemaNode node) {
  return {{std::move(node), false}};
}

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_SCHEMACOMPILER_H
