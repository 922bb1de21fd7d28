//===- Grammar.h - grammars that constrain a text -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a grammar, which says which texts are allowed, from one of three
// sources. All of them become tables of the same form:
//
//   Expected<Grammar> grammar = Grammar::fromGbnf("root ::= \"yes\" | \"no\"");
//   Expected<Grammar> schema = Grammar::fromJsonSchema(parsedSchema);
//
// TokenGrammar.h and GrammarState.h make a model's output follow it.
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

/// A compiled grammar. Immutable, cheap to copy (copies share the tables) and
/// thread-safe.
class Grammar {
public:
  /// Compiles llama.cpp's GBNF (see its grammars/README.md): rules,
  /// alternatives, groups, * + ? {m} {m,} {m,n}, literals, character classes,
  /// `.`, and comments. The text starts with the rule `root`. Tokens
  /// (`<think>`, `<[7]>`) are not supported, since a grammar has no vocabulary.
  /// Errors name the line, or the rule that is missing, doubled or
  /// left-recursive. All functions here also fail when the meter ends the work;
  /// the error then says why.
  static Expected<Grammar> fromGbnf(std::string_view text, WorkMeter &meter);
  /// Like the function above, with a meter of maxGrammarWork. The same holds
  /// for the functions without a meter below.
  static Expected<Grammar> fromGbnf(std::string_view text);

  /// Compiles a JSON schema. JsonSchema.h says which keywords are supported and
  /// what is written. The schema is an ordered_json, since objects are written
  /// in the order of `properties`. Errors name the JSON pointer and the
  /// keyword.
  static Expected<Grammar> fromJsonSchema(const nlohmann::ordered_json &schema,
                                          WorkMeter &meter);
  static Expected<Grammar> fromJsonSchema(const nlohmann::ordered_json &schema);

  /// Returns the grammar of all JSON objects.
  static Expected<Grammar> anyJsonObject();

  /// Internal to runtime/grammar.
  const GrammarTables &tables() const { return *shared; }
  /// Returns the size of the tables in memory.
  size_t bytes() const;

private:
  explicit Grammar(GrammarTables tables);

  std::shared_ptr<const GrammarTables> shared;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GRAMMAR_H
