//===- TokenTrieTest.cpp - tests of a vocabulary as a trie ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/TokenTrie.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace sluice;
using namespace sluice::grammar;

namespace {

using Views = std::vector<std::string_view>;

/// Returns every token's bytes, as read from the nodes on its path.
std::map<TokenId, std::string> readOff(const TokenTrie &trie) {
  std::map<TokenId, std::string> out;
  std::string path;
  for (uint32_t node = 0; node < trie.nodeCount(); ++node) {
    const TokenTrie::Node &it = trie.nodes()[node];
    if (it.depth > 0) {
      path.resize(it.depth - 1u);
      path += static_cast<char>(it.byte);
    }
    for (TokenId token : trie.tokensAt(node))
      EXPECT_TRUE(out.emplace(token, path).second);
  }
  return out;
}

TEST(TokenTrieTest, HoldsEveryToken) {
  Views tokens{"a", "ab", "", "b", "abc", "ab", "<s>", "\xC3"};
  Expected<TokenTrie> trie = TokenTrie::create(tokens, {{6}});
  ASSERT_TRUE(trie);
  EXPECT_EQ(
      readOff(*trie),
      (std::map<TokenId, std::string>{
          {0, "a"}, {1, "ab"}, {3, "b"}, {4, "abc"}, {5, "ab"}, {7, "\xC3"}}));
  EXPECT_EQ(trie->vocabularySize(), 8u);
  EXPECT_EQ(trie->longestToken(), 3u);
  EXPECT_EQ(trie->bytes(4), "abc");
  EXPECT_EQ(trie->bytes(6), ""); // an end token
  EXPECT_EQ(trie->bytes(-1), "");
  EXPECT_EQ(trie->bytes(8), "");
  EXPECT_TRUE(trie->isEndToken(6));
  EXPECT_FALSE(trie->isEndToken(0));
}

TEST(TokenTrieTest, SkipLeadsBehindTheSubtree) {
  std::mt19937 random(2);
  std::vector<std::string> tokens;
  for (int i = 0; i < 500; ++i) {
    std::string token;
    for (size_t length = random() % 6; token.size() < length;)
      token += static_cast<char>(random() % 3 + 254); // wraps around after 255
    tokens.push_back(token);
  }
  Expected<TokenTrie> trie =
      TokenTrie::create(Views(tokens.begin(), tokens.end()), {});
  ASSERT_TRUE(trie);
  std::map<TokenId, std::string> read = readOff(*trie);
  for (size_t id = 0; id < tokens.size(); ++id)
    EXPECT_EQ(read.count(static_cast<TokenId>(id)), !tokens[id].empty());
  for (auto &[id, text] : read)
    EXPECT_EQ(text, tokens[static_cast<size_t>(id)]);
  auto nodes = trie->nodes();
  for (uint32_t node = 0; node < trie->nodeCount(); ++node) {
    uint32_t next = node + 1;
    while (next < trie->nodeCount() && nodes[next].depth > nodes[node].depth)
      ++next;
    EXPECT_EQ(nodes[node].skip, next);
  }
}

TEST(TokenTrieTest, KnowsWhatLiesBelow) {
  auto bit = [](unsigned index) { return uint64_t(1) << index; };
  auto ascii = [&](char c) {
    return bit(TokenTrie::characterClass(static_cast<uint8_t>(c)));
  };
  constexpr unsigned wide = TokenTrie::wideClass,
                     broken = TokenTrie::brokenClass;
  // The nodes: 1 a, B, 1; 4 x, E2, 82; 7 C3, "; 9 ED, A0; 11 F0, 9F, 98, 80.
  Expected<TokenTrie> trie = TokenTrie::create(
      Views{"aB1", "x\xE2\x82", "\xC3\"", "\xED\xA0", "\xF0\x9F\x98\x80"}, {});
  ASSERT_TRUE(trie);
  EXPECT_EQ(trie->classesBelow(1), ascii('Z') | ascii('0'));
  EXPECT_EQ(trie->heightOf(1), 2u);
  EXPECT_EQ(trie->classesBelow(3), 0u);
  EXPECT_EQ(trie->heightOf(3), 0u);
  // Incomplete, but the start of a character.
  EXPECT_EQ(trie->classesBelow(4), bit(wide));
  // Inside a character.
  EXPECT_EQ(trie->classesBelow(5), bit(wide) | bit(broken));
  EXPECT_EQ(trie->classesBelow(7), bit(broken)); // C3 needs another byte
  EXPECT_EQ(trie->classesBelow(9), bit(broken)); // no surrogates
  EXPECT_EQ(trie->classesBelow(11), bit(wide) | bit(broken));
  EXPECT_EQ(trie->heightOf(0), 4u);
  EXPECT_EQ(trie->classesBelow(0),
            ascii('a') | ascii('Z') | ascii('0') | bit(wide) | bit(broken));
}

TEST(TokenTrieTest, CharactersOfAClass) {
  auto same = [](char a, char b) {
    return TokenTrie::characterClass(static_cast<uint8_t>(a)) ==
           TokenTrie::characterClass(static_cast<uint8_t>(b));
  };
  EXPECT_TRUE(same('a', 'z') && same('A', 'Z') && same('0', '9') &&
              same('\0', '\x1F'));
  EXPECT_FALSE(same('a', 'A') || same('a', '0') || same('"', '\\') ||
               same(' ', '\t') || same('\n', '\0') || same('`', 'a'));
  for (int c = 0; c < 128; ++c) {
    EXPECT_GT(TokenTrie::characterClass(static_cast<uint8_t>(c)),
              TokenTrie::wideClass);
    EXPECT_LT(TokenTrie::characterClass(static_cast<uint8_t>(c)), 64u);
  }
}

TEST(TokenTrieTest, MayHaveNoTokenThatMatches) {
  Expected<TokenTrie> trie = TokenTrie::create(Views{"", ""}, {{1}});
  ASSERT_TRUE(trie);
  EXPECT_EQ(trie->nodeCount(), 1u);
}

TEST(TokenTrieTest, RefusesWhatIsNoVocabulary) {
  EXPECT_EQ(TokenTrie::create({}, {}).status().message(),
            "vocabulary: 0 tokens, not 1 to 16777216");
  EXPECT_EQ(TokenTrie::create(Views{"a"}, {{1}}).status().message(),
            "vocabulary: the end token 1 is not one of 1 tokens");
  EXPECT_EQ(TokenTrie::create(Views{"a"}, {{-1}}).status().message(),
            "vocabulary: the end token -1 is not one of 1 tokens");
  std::string longToken(5000, 'x');
  EXPECT_EQ(TokenTrie::create(Views{"a", longToken}, {}).status().message(),
            "vocabulary: token 1 has 5000 bytes, more than 4096");
}

} // namespace
