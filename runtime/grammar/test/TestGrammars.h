//===- TestGrammars.h - helpers for tests of grammars ---------------------===//
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

/// The limits of a request without the time, of which a busy machine needs
/// more.
inline constexpr WorkMeter::Limits untimedGrammarWork = {
    .steps = maxGrammarWork.steps, .bytes = maxGrammarWork.bytes};

/// A meter for work without limits.
inline WorkMeter &anyWork() {
  static WorkMeter meter({});
  return meter;
}

/// Makes a vocabulary of `tokens` and one more token, which ends a text.
inline std::shared_ptr<const TokenTrie>
makeTrie(const std::vector<std::string> &tokens) {
  std::vector<std::string_view> views(tokens.begin(), tokens.end());
  views.push_back("</s>");
  auto end = static_cast<TokenId>(tokens.size());
  Expected<TokenTrie> trie = TokenTrie::create(views, {{end}});
  EXPECT_TRUE(trie) << trie.status().message();
  return std::make_shared<const TokenTrie>(trie.take());
}

/// Returns a vocabulary in which token b is the byte b, and 256 ends a text.
inline std::shared_ptr<const TokenTrie> byteTrie() {
  static const std::shared_ptr<const TokenTrie> trie = [] {
    std::vector<std::string> bytes;
    for (int byte = 0; byte < 256; ++byte)
      bytes.push_back(std::string(1, static_cast<char>(byte)));
    return makeTrie(bytes);
  }();
  return trie;
}

/// How much of a text a grammar matches: not even a beginning, a beginning, or
/// the whole text.
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
