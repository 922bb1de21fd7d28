//===- GrammarStateTest.cpp - tests of texts and tokens of a grammar ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/test/TestGrammars.h"

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

using namespace sluice;
using namespace sluice::grammar;

namespace {

std::shared_ptr<const TokenGrammar>
over(const std::vector<std::string> &tokens, std::string_view grammar,
     size_t cacheBytes = TokenGrammar::defaultCacheBytes) {
  return std::make_shared<const TokenGrammar>(gbnf(grammar), makeTrie(tokens),
                                              cacheBytes);
}

/// Returns the tokens of a mask.
std::vector<TokenId> tokensOf(const std::vector<uint64_t> &mask) {
  std::vector<TokenId> out;
  for (size_t i = 0; i < mask.size() * 64; ++i)
    if (mask[i / 64] >> (i % 64) & 1)
      out.push_back(static_cast<TokenId>(i));
  return out;
}

std::vector<TokenId> allowed(const GrammarState &state, size_t words) {
  std::vector<uint64_t> mask(words, ~uint64_t(0));
  EXPECT_TRUE(state.fillMask(mask).ok());
  return tokensOf(mask);
}

using Tokens = std::vector<TokenId>;

TEST(GrammarStateTest, MaskAdvanceAndEnd) {
  //            0    1    2     3     4      5: end
  auto grammar = over({"a", "b", "ab", "ba", "abb"}, "root ::= \"ab\"+");
  size_t words = grammar->maskWords();
  GrammarState state(grammar);
  EXPECT_EQ(allowed(state, words), (Tokens{0, 2}));
  EXPECT_FALSE(state.isComplete());
  EXPECT_FALSE(state.accepts(5));
  EXPECT_FALSE(state.advance(1));
  EXPECT_TRUE(state.advance(0));
  EXPECT_EQ(allowed(state, words), (Tokens{1, 3}));
  EXPECT_TRUE(state.advance(3));
  EXPECT_EQ(allowed(state, words), (Tokens{1, 3}));
  EXPECT_TRUE(state.advance(1));
  EXPECT_TRUE(state.isComplete());
  EXPECT_EQ(allowed(state, words), (Tokens{0, 2, 5}));
  EXPECT_TRUE(state.accepts(5));
  EXPECT_FALSE(state.hasEnded());
  EXPECT_TRUE(state.advance(5));
  EXPECT_TRUE(state.hasEnded());
  EXPECT_FALSE(state.accepts(0));
  EXPECT_FALSE(state.advance(0));
  EXPECT_FALSE(state.accepts(5));
  EXPECT_FALSE(state.advance(5));
  std::vector<uint64_t> mask(words);
  EXPECT_EQ(state.fillMask(mask).message(),
            "grammar: the text has ended, no token can follow");
}

TEST(GrammarStateTest, SpecialAndForeignTokensAreNeverAllowed) {
  auto grammar = over({"a", ""}, "root ::= .*");
  GrammarState state(grammar);
  EXPECT_EQ(allowed(state, grammar->maskWords()), (Tokens{0, 2}));
  for (TokenId token : {1, -1, 3, 1 << 30}) {
    EXPECT_FALSE(state.accepts(token));
    EXPECT_FALSE(state.advance(token));
  }
}

TEST(GrammarStateTest, SeveralEndTokensAndTheEmptyText) {
  std::vector<std::string_view> tokens{"<eot>", "a", "<eos>"};
  auto trie = std::make_shared<const TokenTrie>(
      *TokenTrie::create(tokens, std::vector<TokenId>{2, 0}));
  auto grammar =
      std::make_shared<const TokenGrammar>(gbnf("root ::= \"a\"?"), trie);
  GrammarState state(grammar);
  EXPECT_TRUE(state.isComplete());
  EXPECT_EQ(allowed(state, 1), (Tokens{0, 1, 2}));
  EXPECT_TRUE(state.advance(1));
  EXPECT_EQ(allowed(state, 1), (Tokens{0, 2}));
  EXPECT_TRUE(state.advance(0));
  EXPECT_TRUE(state.hasEnded());
}

TEST(GrammarStateTest, TokensMayCutCharacters) {
  // é is C3 A9 and € is E2 82 AC: as a whole, in parts, and byte by byte.
  auto grammar = over({"\xC3", "\xA9", "é", "\xE2", "\xE2\x82", "\x82\xAC",
                       "\xAC", "\x82", "\xA9\xE2", "x"},
                      "root ::= [é€]+");
  size_t words = grammar->maskWords();
  GrammarState state(grammar);
  EXPECT_EQ(allowed(state, words), (Tokens{0, 2, 3, 4}));
  EXPECT_TRUE(state.advance(0));
  EXPECT_EQ(allowed(state, words), (Tokens{1, 8}));
  EXPECT_FALSE(state.isComplete());
  EXPECT_TRUE(state.advance(8));
  EXPECT_EQ(allowed(state, words), (Tokens{5, 7}));
  GrammarState other = state;
  EXPECT_TRUE(state.advance(5));
  EXPECT_TRUE(state.isComplete());
  EXPECT_TRUE(other.advance(7));
  EXPECT_EQ(allowed(other, words), (Tokens{6}));
  EXPECT_TRUE(other.advance(6));
  EXPECT_TRUE(other.isComplete());
}

TEST(GrammarStateTest, TokensMaySpanRules) {
  auto grammar = over({"{", "}", "{{", "}}", "}}}", "{}", "}{", "x}", "x"},
                      "root ::= block\n"
                      "block ::= \"{\" (block | word) \"}\"\n"
                      "word ::= \"x\"+ | \"{}{\" \"x\"");
  size_t words = grammar->maskWords();
  GrammarState state(grammar);
  EXPECT_EQ(allowed(state, words), (Tokens{0, 2}));
  ASSERT_TRUE(state.advance(2));
  EXPECT_EQ(allowed(state, words), (Tokens{0, 1, 2, 5, 6, 7, 8}));
  ASSERT_TRUE(state.advance(7));
  EXPECT_EQ(allowed(state, words), (Tokens{1})); // neither }} nor }}}
  ASSERT_TRUE(state.advance(1));
  EXPECT_EQ(allowed(state, words), (Tokens{9}));
}

TEST(GrammarStateTest, CopiesGoTheirOwnWays) {
  auto grammar =
      over({"(", ")", "x", "()"}, "root ::= \"(\" root* \")\" | \"x\"");
  GrammarState trunk(grammar);
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(trunk.advance(0));
  std::vector<GrammarState> branches(4, trunk);
  ASSERT_TRUE(branches[0].advance(1));
  ASSERT_TRUE(branches[1].advance(0));
  ASSERT_TRUE(branches[2].advance(2));
  trunk = branches[1]; // the branch is confirmed
  branches.erase(branches.begin());
  for (int i = 0; i < 6; ++i)
    ASSERT_TRUE(trunk.advance(1)) << i;
  EXPECT_TRUE(trunk.isComplete());
  EXPECT_FALSE(trunk.advance(1));
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(branches[2].advance(1)) << i;
  EXPECT_TRUE(branches[2].isComplete());
  GrammarState moved = std::move(branches[0]);
  branches[0] = GrammarState(grammar);
  EXPECT_TRUE(branches[0].advance(2));
  EXPECT_TRUE(moved.advance(3));
  GrammarState &same = moved;
  moved = same;
  EXPECT_TRUE(moved.advance(1));
}

TEST(GrammarStateTest, StatesOutliveTheirOrigin) {
  std::vector<GrammarState> states;
  {
    auto grammar = over({"a"}, "root ::= \"a\"{3}");
    GrammarState first(grammar);
    EXPECT_TRUE(first.advance(0));
    states.push_back(first);
  }
  EXPECT_TRUE(states[0].advance(0));
  EXPECT_TRUE(states[0].advance(0));
  EXPECT_TRUE(states[0].isComplete());
}

TEST(GrammarStateTest, SaysWhenTheVocabularyCannotGoOn) {
  auto grammar = over({"a", "c"}, "root ::= \"a\" \"b\"");
  GrammarState state(grammar);
  ASSERT_TRUE(state.advance(0));
  std::vector<uint64_t> mask(grammar->maskWords());
  EXPECT_EQ(state.fillMask(mask).message(),
            "grammar: the vocabulary has no token that can come next");
}

TEST(GrammarStateTest, TheCacheIsBoundedAndChangesNothing) {
  // There are 1,000 states with many tokens each, and room for about four
  // masks.
  std::vector<std::string> tokens;
  for (int i = 0; i < 26 * 26; ++i)
    tokens.push_back(
        {static_cast<char>('a' + i / 26), static_cast<char>('a' + i % 26)});
  std::string text = "root ::= ";
  for (int i = 0; i < 40; ++i)
    text += "[" + std::string(1, static_cast<char>('a' + i % 20)) + "-z] ";
  auto grammar = over(tokens, text, /*cacheBytes=*/2048);
  auto uncached = over(tokens, text, /*cacheBytes=*/0);
  GrammarState state(grammar), other(uncached);
  size_t words = grammar->maskWords();
  for (int i = 0; i < 20; ++i) {
    Tokens now = allowed(state, words);
    EXPECT_EQ(now, allowed(other, words));
    EXPECT_EQ(now, allowed(state, words)); // from the cache
    EXPECT_LE(grammar->cachedBytes(), 2048u);
    ASSERT_TRUE(state.advance(now.back()));
    ASSERT_TRUE(other.advance(now.back()));
  }
  EXPECT_GT(grammar->cachedBytes(), 0u);
  EXPECT_EQ(uncached->cachedBytes(), 0u);
}

TEST(GrammarStateTest, CountsShareMasksWhereNoTokenTellsThemApart) {
  auto grammar = over({"a", "aa", "aaaa", "\""},
                      "root ::= \"\\\"\" [a-z]{20,1000} \"\\\"\"");
  size_t words = grammar->maskWords();
  GrammarState state(grammar);
  ASSERT_TRUE(state.advance(3));
  size_t held = 0;
  for (int i = 0; i < 1000; ++i) {
    Tokens wanted;
    if (i + 1 <= 1000)
      wanted.push_back(0);
    if (i + 2 <= 1000)
      wanted.push_back(1);
    if (i + 4 <= 1000)
      wanted.push_back(2);
    if (i >= 20)
      wanted.push_back(3);
    ASSERT_EQ(allowed(state, words), wanted) << i;
    if (i == 30)
      held = grammar->cachedBytes();
    if (i > 30 && i < 990) {
      ASSERT_EQ(grammar->cachedBytes(), held) << i;
    }
    ASSERT_TRUE(state.advance(0));
  }
  EXPECT_EQ(allowed(state, words), (Tokens{3}));
}

TEST(GrammarStateTest, ThreadsShareAGrammar) {
  auto grammar = over({"a", "b", "ab", "(", ")", "()"},
                      "root ::= (\"a\" | \"b\" | \"(\" root \")\")+", 4096);
  GrammarState start(grammar);
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      GrammarState state(grammar);
      std::vector<uint64_t> mask(grammar->maskWords());
      for (int i = 0; i < 300; ++i) {
        failures += !state.fillMask(mask).ok();
        failures += !(mask[0] >> 3 & 1);
        failures += !state.advance(3);
        // Several threads may read one state.
        failures += !start.fillMask(mask).ok();
        failures += !start.accepts(0);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
}

TEST(GrammarStateTest, OneThreadMakesMasksWhileAnotherGuesses) {
  auto grammar = over({"a", "b", "(", ")", "()"},
                      "root ::= (\"a\" | \"b\" | \"(\" root \")\")+");
  GrammarState state(grammar);
  std::atomic<int> failures = 0;
  std::atomic<bool> done = false;
  std::thread masks([&] {
    std::vector<uint64_t> mask(grammar->maskWords());
    while (!done)
      failures += !state.fillMask(mask).ok() || mask[0] != 0x7;
  });
  for (int i = 0; i < 2000; ++i) {
    GrammarState guess = state, other = state;
    failures += !guess.advance(2) || !guess.advance(2);
    other = guess;
    failures += !other.advance(0) || !guess.advance(1) || !guess.advance(3);
  }
  done = true;
  masks.join();
  EXPECT_EQ(failures, 0);
}

TEST(GrammarStateTest, TooManyReadingsAreRefused) {
  // After n letters, up to n items may still follow.
  auto grammar = over({"a", "!"}, "root ::= item \"!\"\n"
                                  "item ::= \"a\" item item | \"a\"");
  GrammarState state(grammar);
  int taken = 0;
  while (taken < 1000 && state.advance(0))
    ++taken;
  EXPECT_GT(taken, 20);
  EXPECT_LT(taken, 1000);
  EXPECT_FALSE(state.accepts(0));
  Tokens now = allowed(state, 1);
  EXPECT_EQ(std::count(now.begin(), now.end(), 1), taken % 2);
  EXPECT_EQ(state.accepts(1), taken % 2 == 1); // the state has not changed
}

} // namespace
