//===- TestGrammars.h - what tests of grammars share ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_TEST_TESTGRAMMARS_H
#define SLUICE_RUNTIME_GRAMMAR_TEST_TESTGRAMMARS_H

#include "runtime/grammar/GrammarLimits.h"
#include "runtime/grammar/GrammarState.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::grammar {

/// As for a request, but for the time, which a busy machine takes more of.
inline constexpr WorkMeter::Limits untimedGrammarWork = {
    .steps = maxGrammarWork.steps, .bytes = maxGrammarWork.bytes};

/// For work that may cost anything.
inline WorkMeter &anyWork() {
  static WorkMeter meter({});
  return meter;
}

/// A vocabulary of these tokens; the last one ends a text.
inline std::shared_ptr<const TokenTrie>
makeTrie(const std::vector<std::string> &tokens) {
  std::vector<std::string_view> views(tokens.begin(), tokens.end());
  views.push_back("</s>");
  auto end = static_cast<TokenId>(tokens.size());
  Expected<TokenTrie> trie = TokenTrie::create(views, {{end}});
  EXPECT_TRUE(trie) << trie.status().message();
  return std::make_shared<const TokenTrie>(trie.take());
}

/// Token b is the byte b; 256 ends a text.
inline std::shared_ptr<const TokenTrie> byteTrie() {
  static const std::shared_ptr<const TokenTrie> trie = [] {
    std::vector<std::string> bytes;
    for (int byte = 0; byte < 256; ++byte)
      bytes.push_back(std::string(1, static_cast<char>(byte)));
    return makeTrie(bytes);
  }();
  return trie;
}

/// What a grammar makes of a text.
enum class Match { None, Prefix, Whole };

inline Match match(const Grammar &grammar, std::string_view text) {
  GrammarState state(std::make_shared<const TokenGrammar>(grammar, byteTrie()));
  for (char byte : text)
    if (!state.advance(static_cast<uint8_t>(byte)))
      return Match::None;
  return state.isComplete() ? Match::Whole : Match::Prefix;
}

inline bool matches(const Grammar &grammar, std::string_view text) {
  return match(grammar, text) == Match::Whole;
}

inline Grammar gbnf(std::string_view text) {
  Expected<Grammar> grammar = Grammar::fromGbnf(text);
  if (!grammar) {
    ADD_FAILURE() << grammar.status().message() << " in " << text;
    return *Grammar::fromGbnf("root ::= \"\"");
  }
  return *grammar;
}

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_TEST_TESTGRAMMARS_H
