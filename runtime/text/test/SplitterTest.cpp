//===- SplitterTest.cpp - tests of pieces of a text -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/Splitter.h"

#include "runtime/text/PreTokenizer.h"

#include <gmock/gmock.h>

using namespace sluice;
using namespace sluice::text;
using testing::ElementsAre;

namespace {

std::vector<std::string> split(SplitBehavior behavior, bool invert = false) {
  std::string_view text = "The-final--countdown";
  std::vector<Span> hyphens = {{3, 4}, {9, 10}, {10, 11}};
  std::vector<std::string_view> pieces;
  splitAt(text, hyphens, behavior, invert, pieces);
  return {pieces.begin(), pieces.end()};
}

TEST(Splitter, TreatsMatchesAsAsked) {
  EXPECT_THAT(split(SplitBehavior::Removed),
              ElementsAre("The", "final", "countdown"));
  EXPECT_THAT(split(SplitBehavior::Isolated),
              ElementsAre("The", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(split(SplitBehavior::MergedWithPrevious),
              ElementsAre("The-", "final-", "-", "countdown"));
  EXPECT_THAT(split(SplitBehavior::MergedWithNext),
              ElementsAre("The", "-final", "-", "-countdown"));
  EXPECT_THAT(split(SplitBehavior::Contiguous),
              ElementsAre("The", "-", "final", "--", "countdown"));
  EXPECT_THAT(split(SplitBehavior::Removed, true), ElementsAre("-", "-", "-"));
}

std::vector<std::string> pieces(const std::vector<PreTokenizerStep> &steps,
                                std::string_view text, bool keepBytes,
                                bool atStart = true) {
  Expected<PreTokenizer> preTokenizer = PreTokenizer::create(steps, keepBytes);
  EXPECT_TRUE(preTokenizer.ok()) << preTokenizer.status().message();
  if (!preTokenizer)
    return {};
  Expected<Pieces> result = preTokenizer->split(text, atStart);
  EXPECT_TRUE(result.ok());
  return {result->list.begin(), result->list.end()};
}

TEST(PreTokenizer, SpellsBytesUnlessTheyAreWanted) {
  PreTokenizerStep words;
  words.kind = PreTokenizerStep::Kind::ByteLevel;
  words.flag = true;
  EXPECT_THAT(pieces({words}, "it's é", true), ElementsAre("it", "'s", " é"));
  EXPECT_THAT(pieces({words}, "it's é", false), ElementsAre("it", "'s", "ĠÃ©"));
}

TEST(PreTokenizer, PutsASpaceInFrontOfTheFirstPieceOnly) {
  PreTokenizerStep split, space;
  split.kind = PreTokenizerStep::Kind::WhitespaceSplit;
  space.kind = PreTokenizerStep::Kind::Metaspace;
  space.pattern = "▁";
  space.scheme = PrependScheme::First;
  EXPECT_THAT(pieces({split, space}, "a b", false), ElementsAre("▁a", "b"));
  EXPECT_THAT(pieces({split, space}, "a b", false, false),
              ElementsAre("a", "b"));
  // The first piece here is not the start of the user's text.
  EXPECT_THAT(pieces({split, space}, " a b", false), ElementsAre("a", "b"));
  EXPECT_THAT(pieces({space}, "", false), ElementsAre());
}

TEST(PreTokenizer, RefusesEmptyPatterns) {
  PreTokenizerStep step;
  step.kind = PreTokenizerStep::Kind::SplitString;
  EXPECT_FALSE(PreTokenizer::create({step}, false).ok());
}

} // namespace
