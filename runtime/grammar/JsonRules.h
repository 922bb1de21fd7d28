//===- JsonRules.h - how JSON is written ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How JSON is written: what all grammars for JSON share. Internal to
// runtime/grammar.
//
// Between two things there may be no space, one blank, or one or two newlines
// with at most 20 blanks and tabs behind them, as in llama.cpp: enough for any
// usual layout, and a weak model cannot spend its tokens on space. Numbers have
// a bounded number of digits for the same reason. There is no space before the
// text or behind it.
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

/// Puts JSON between two states of a builder. Everything adds edges out of
/// `from` and into `to` only. Rules are made when they are first asked for.
/// Thread-compatible.
class JsonRules {
public:
  explicit JsonRules(GrammarBuilder &builder) : builder(builder) {}

  /// Optional space; returns the state behind it.
  BuilderState space(BuilderState from);
  /// A punctuation mark and optional space; returns the state behind them.
  BuilderState mark(BuilderState from, char mark);

  void value(BuilderState from, BuilderState to);
  void object(BuilderState from, BuilderState to);
  void array(BuilderState from, BuilderState to);
  void string(BuilderState from, BuilderState to);
  /// Of `min` to `max` characters, which are the code points that the string
  /// stands for: an escape is one, and so is a pair of surrogates.
  void string(BuilderState from, uint32_t min, uint32_t max, BuilderState to);
  void number(BuilderState from, BuilderState to);
  void integer(BuilderState from, BuilderState to);

  /// The strings of a set. Characters that need no escape have none, and the
  /// others the shortest: one spelling for each string.
  void quoted(BuilderState from, const SizedTexts &strings, BuilderState to);
  /// One string, spelt likewise.
  void quoted(BuilderState from, std::string_view text, BuilderState to);
  /// The texts of an automaton as they are.
  void plain(BuilderState from, const TextAutomaton &texts, BuilderState to);
  /// One value: a constant of a schema.
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
