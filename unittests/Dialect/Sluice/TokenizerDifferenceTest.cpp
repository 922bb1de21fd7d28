//===- TokenizerDifferenceTest.cpp - tests of TokenizerDifference.h -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Dialect/Sluice/Transforms/TokenizerDifference.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::text;

namespace {

/// Returns a vocabulary of these texts. Those in brackets are placeholders.
TokenizerSpec tokens(std::initializer_list<const char *> texts) {
  TokenizerSpec spec;
  for (std::string text : texts) {
    bool isPlaceholder = text.starts_with("[");
    spec.tokens.push_back(
        {text, 0, isPlaceholder ? TokenType::Unused : TokenType::Normal});
  }
  return spec;
}

TEST(TokenizerDifference, TokensOfOneIdMustBeTheSame) {
  EXPECT_EQ(findOtherToken(tokens({"a", "b"}), tokens({"a", "b", "c"})), "");
  EXPECT_EQ(findOtherToken(tokens({"a", "x"}), tokens({"a", "b", "c"})),
            "token 1 is 'x', the target's is 'b'");
}

TEST(TokenizerDifference, PlaceholdersAreNoTokens) {
  TokenizerSpec padded = tokens({"a", "[PAD1]", "", "[PAD3]"});
  TokenizerSpec tuned = tokens({"a", "<tool>", "<end>", "[PAD3]"});
  EXPECT_EQ(findOtherToken(padded, tuned), "");
  EXPECT_EQ(findOtherToken(tuned, padded), "");
  EXPECT_EQ(findMissingTokens(padded, 4, tuned),
            "it lacks 2 of the target's tokens, the first 1, '<tool>'");
  EXPECT_EQ(findMissingTokens(tuned, 4, padded), "");
}

TEST(TokenizerDifference, ADraftLacksWhatItHasNoRowFor) {
  TokenizerSpec spec = tokens({"a", "b", "c"});
  EXPECT_EQ(findMissingTokens(spec, 200, spec), "");
  EXPECT_EQ(findMissingTokens(spec, 2, spec),
            "it lacks 1 of the target's tokens, the first 2, 'c'");
}

} // namespace
