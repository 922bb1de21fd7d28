//===- SchemaWriter.h - writes schemas as rules of a grammar --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAWRITER_H
#define SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAWRITER_H

#include "runtime/grammar/JsonRules.h"
#include "runtime/grammar/schema/SchemaReader.h"

#include <deque>
#include <map>

namespace sluice::grammar {

/// What is written to, and what is read. All must outlive the writers.
struct SchemaTarget {
  GrammarBuilder &builder;
  JsonRules &json; ///< of the builder
  SchemaReader &reader;
  SchemaBudget &budget;
  WorkMeter &meter; ///< of the budget
};

/// Adds schemas to a builder. Functions named emit... only add edges out of
/// `from` and into `to`, and none for a schema that no value matches.
/// References become rules, so that recursion ends; everything else is inlined.
/// Thread-compatible; made for one document.
class SchemaWriter {
public:
  explicit SchemaWriter(const SchemaTarget &target)
      : target(target), builder(target.builder), json(target.json),
        held(target.meter) {}

  Status emit(const Conjunction &schema, BuilderState from, BuilderState to);
  /// Like emit(), for a schema that is put into several places.
  Status emitShared(const Conjunction &schema, BuilderState from,
                    BuilderState to);
  /// The following emit the values of one type that match.
  Status emitNumber(const Constraints &constraints, BuilderState from,
                    BuilderState to);
  Status emitString(const Constraints &constraints, BuilderState from,
                    BuilderState to);
  Status emitArray(const Constraints &constraints, BuilderState from,
                   BuilderState to);
  Status emitObject(const Constraints &constraints, BuilderState from,
                    BuilderState to);
  void emitAutomata(const NumberAutomata &numbers, BuilderState from,
                    BuilderState to);

  /// Writes the rules that have been called and not been written. Must be
  /// called at the end.
  Status finish();

private:
  /// The key of a rule: its schemas and choices, each with the schemas that it
  /// is within.
  using RuleKey = std::vector<const ordered_json *>;
  struct PendingRule {
    RuleId rule;
    ExpandedSchema schema;
  };

  Status emitRule(const ExpandedSchema &schema, BuilderState from,
                  BuilderState to);
  Status emitExpanded(const ExpandedSchema &schema, BuilderState from,
                      BuilderState to);
  Status emitChoices(const ExpandedSchema &schema, BuilderState from,
                     BuilderState to);
  Status emitConstraints(const Constraints &constraints, BuilderState from,
                         BuilderState to);

  SchemaTarget target;
  GrammarBuilder &builder;
  JsonRules &json;
  std::map<RuleKey, RuleId> rules;
  std::vector<PendingRule> pending;
  HeldBytes held; ///< the bytes of `rules` and `pending`
  /// Schemas that are not in the document. Their addresses do not change.
  std::deque<ordered_json> made;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAWRITER_H
