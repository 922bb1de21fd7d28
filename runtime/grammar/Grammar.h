//===- Grammar.h - what a text may be -------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a text may be, from one of three sources. All become the same tables.
//
//   Expected<Grammar> grammar = Grammar::fromGbnf("root ::= \"yes\" | \"no\"");
//   Expected<Grammar> schema = Grammar::fromJsonSchema(parsedSchema);
//
// TokenGrammar.h and GrammarState.h hold a model to it.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_GRAMMAR_H
#define SLUICE_RUNTIME_GRAMMAR_GRAMMAR_H

#include "runtime/base/Status.h"
#include "runtime/base/WorkMeter.h"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace sluice::grammar {

struct GrammarTables;

/// A compiled grammar. Immutable, cheap to copy (copies share the tables),
/// thread-safe.
class Grammar {
public:
  /// From llama.cpp's GBNF (its grammars/README.md): rules, alternatives,
  /// groups, * + ? {m} {m,} {m,n}, literals, character classes, `.`, and
  /// comments. The text starts with the rule `root`. Not supported, as a
  /// grammar is made without a vocabulary: tokens (`<think>`, `<[7]>`).
  /// Errors name the line, or the rule that is missing, doubled or
  /// left-recursive, or say, here and below, how the meter has ended the work.
  static Expected<Grammar> fromGbnf(std::string_view text, WorkMeter &meter);
  /// With a meter of its own, of maxGrammarWork; likewise below.
  static Expected<Grammar> fromGbnf(std::string_view text);

  /// From a JSON schema; JsonSchema.h says which keywords there are and what
  /// is written. An ordered_json, because objects are written in the order of
  /// `properties`. Errors name the JSON pointer and the keyword.
  static Expected<Grammar> fromJsonSchema(const nlohmann::ordered_json &schema,
                                          WorkMeter &meter);
  static Expected<Grammar> fromJsonSchema(const nlohmann::ordered_json &schema);

  /// Any JSON object.
  static Expected<Grammar> anyJsonObject();

  /// Internal to runtime/grammar.
  const GrammarTables &tables() const { return *shared; }

private:
  explicit Grammar(GrammarTables tables);

  std::shared_ptr<const GrammarTables> shared;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GRAMMAR_H
