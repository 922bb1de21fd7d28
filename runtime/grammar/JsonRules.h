//===- JsonRules.h - rules for JSON texts ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules that all grammars for JSON share. Internal to runtime/grammar.
//
// Between two tokens of JSON there may be no space, one blank, or one or two
// newlines followed by at most 20 blanks and tabs, as in llama.cpp. That is
// enough for any usual layout, and a weak model cannot spend its tokens on
// space. For the same reason, numbers have a limited number of digits. There is
// no space before or after the text.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_JSONRULES_H
#define SLUICE_RUNTIME_GRAMMAR_JSONRULES_H

#include "runtime/grammar/GrammarBuilder.h"
#include "runtime/grammar/TextAutomaton.h"

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <utility>

namespace sluice::grammar {

/// Adds JSON between two states of a builder. Every function only adds edges
/// out of `from` and into `to`. Rules are made when they are first needed.
/// Thread-compatible.
class JsonRules {
public:
  explicit JsonRules(GrammarBuilder &builder) : builder(builder) {}

  /// Adds optional space, and returns the state after it.
  BuilderState space(BuilderState from);
  /// Adds a punctuation mark and optional space, and returns the state after
  /// them.
  BuilderState mark(BuilderState from, char mark);

  void value(BuilderState from, BuilderState to);
  void object(BuilderState from, BuilderState to);
  void array(BuilderState from, BuilderState to);
  void string(BuilderState from, BuilderState to);
  /// Adds strings of `min` to `max` characters. Characters are the code points
  /// that the string means: an escape counts as one, and so does a pair of
  /// surrogates.
  void string(BuilderState from, uint32_t min, uint32_t max, BuilderState to);
  void number(BuilderState from, BuilderState to);
  void integer(BuilderState from, BuilderState to);

  /// Adds the strings of a set, each with one spelling: characters that need no
  /// escape have none, and the others have the shortest.
  void quoted(BuilderState from, const SizedTexts &strings, BuilderState to);
  /// Adds one string, with the same spelling.
  void quoted(BuilderState from, std::string_view text, BuilderState to);
  /// Adds the texts of an automaton without quotes or escapes.
  void plain(BuilderState from, const TextAutomaton &texts, BuilderState to);
  /// Adds one value, which is a constant of a schema.
  void constant(BuilderState from, const nlohmann::ordered_json &value,
                BuilderState to);

private:
  RuleId spaceRule();
  RuleId stringRule();
  RuleId numberRule();
  RuleId integerRule();
  RuleId valueRule();
  RuleId objectRule();
  RuleId arrayRule();

  void anyCharacter(BuilderState from, BuilderState to);
  void escapes(BuilderState from, BuilderState to);
  void digits(BuilderState from, uint32_t min, uint32_t max, BuilderState to);
  void whole(BuilderState from, BuilderState to);
  void encoded(BuilderState from, const CodePointSet &set, BuilderState to);
  void escapedControls(BuilderState from, uint32_t controls, BuilderState to);
  void quotedTexts(BuilderState from, const TextAutomaton &texts,
                   BuilderState to, bool counts);
  template <typename Read>
  void automaton(BuilderState from, const TextAutomaton &texts, BuilderState to,
                 bool counts, Read read);

  GrammarBuilder &builder;
  std::optional<RuleId> spaces, strings, numbers, integers, values, objects,
      arrays;
  std::map<std::pair<uint32_t, uint32_t>, RuleId> countedStrings;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_JSONRULES_H
