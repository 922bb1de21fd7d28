//===- RandomPromptTest.cpp - random prompts of requests ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/RandomPrompt.h"

#include <gmock/gmock.h>

#include <algorithm>

using namespace sluice;
using namespace sluice::bench;
using testing::ElementsAre;

namespace {

BenchRequest specOf(size_t index, int64_t length) {
  WorkloadOptions options;
  options.promptTokens = LengthDistribution(length);
  return (*makeWorkload(options))[index];
}

PromptShape tokensBelow(int64_t vocabulary, int64_t shared = 0) {
  return {PromptForm::Tokens, shared, vocabulary};
}

/// From a second implementation, in Python.
TEST(PromptTest, GoldenValues) {
  EXPECT_THAT(promptTokens(tokensBelow(1000), specOf(0, 5), 0),
              ElementsAre(998, 925, 73, 635, 317));
  EXPECT_THAT(promptTokens(tokensBelow(1000, 3), specOf(1, 5), 0),
              ElementsAre(409, 313, 270, 491, 125));
}

TEST(PromptTest, TokensAreOfTheVocabulary) {
  std::vector<int32_t> tokens =
      promptTokens(tokensBelow(7), specOf(0, 2000), 0);
  ASSERT_EQ(tokens.size(), 2000u);
  EXPECT_EQ(*std::min_element(tokens.begin(), tokens.end()), 0);
  EXPECT_EQ(*std::max_element(tokens.begin(), tokens.end()), 6);
}

TEST(PromptTest, PrefixesAreSharedAndTheRestIsNot) {
  PromptShape options = tokensBelow(30000, 10);
  std::vector<int32_t> one = promptTokens(options, specOf(0, 20), 5);
  std::vector<int32_t> two = promptTokens(options, specOf(1, 20), 5);
  EXPECT_TRUE(std::equal(one.begin(), one.begin() + 10, two.begin()));
  EXPECT_FALSE(std::equal(one.begin() + 10, one.end(), two.begin() + 10));
  // Without a shared prefix, prompts differ from the start; another workload
  // has another prefix.
  EXPECT_NE(promptTokens(tokensBelow(30000), specOf(1, 20), 5)[0], one[0]);
  EXPECT_NE(promptTokens(options, specOf(0, 20), 6)[0], one[0]);
  // A shorter prompt is a prefix of the shared one.
  std::vector<int32_t> brief = promptTokens(options, specOf(2, 4), 5);
  ASSERT_EQ(brief.size(), 4u);
  EXPECT_TRUE(std::equal(brief.begin(), brief.end(), one.begin()));
}

TEST(PromptTest, TextHasAWordForEachToken) {
  PromptShape options = {PromptForm::Text, 3, 0};
  std::string one = promptText(options, specOf(0, 50), 0);
  std::string two = promptText(options, specOf(1, 50), 0);
  EXPECT_EQ(std::count(one.begin(), one.end(), ' '), 49);
  EXPECT_NE(one, two);
  auto firstWords = [](const std::string &text, int count) {
    size_t at = 0;
    for (int i = 0; i < count; ++i)
      at = text.find(' ', at + 1);
    return text.substr(0, at);
  };
  EXPECT_EQ(firstWords(one, 3), firstWords(two, 3));
  EXPECT_TRUE(std::all_of(one.begin(), one.end(), [](char c) {
    return c == ' ' || (c >= 'a' && c <= 'z');
  }));
}

} // namespace
