//===- TokenizerTest.cpp - tests of encoding with each model --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/Tokenizer.h"

#include "TestSpecs.h"
#include "runtime/text/Utf8.h"

#include <gmock/gmock.h>
#include <thread>

using namespace sluice;
using namespace sluice::text;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Returns the spellings of a text's tokens.
std::vector<std::string> spelt(const Tokenizer &tokenizer,
                               std::string_view text) {
  std::vector<std::string> out;
  for (TokenId id : test::encode(tokenizer, text))
    out.emplace_back(tokenizer.tokenText(id));
  return out;
}

TEST(Tokenizer, GivesBackEveryText) {
  Tokenizer tokenizer = test::make(test::byteLevel().spec);
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::string text = test::randomText(seed, seed);
    EXPECT_EQ(tokenizer.decode(test::encode(tokenizer, text)), text);
  }
}

TEST(Tokenizer, MergesByRank) {
  Tokenizer tokenizer = test::make(test::byteLevel().spec);
  EXPECT_THAT(spelt(tokenizer, "hello hello shell"),
              ElementsAre("hello", "Ġhello", "Ġ", "s", "hell"));
  EXPECT_THAT(spelt(tokenizer, std::string_view("a\0b", 3)),
              ElementsAre("a", "Ā", "b"));
}

TEST(Tokenizer, ReplacesBytesThatAreNotUtf8) {
  Tokenizer tokenizer = test::make(test::byteLevel().spec);
  EXPECT_EQ(tokenizer.decode(test::encode(tokenizer, "a\xFF"
                                                     "b")),
            "a\uFFFDb");
}

TEST(Tokenizer, GivesOneAnswerForShortAndLongPieces) {
  // Pieces of up to 48 symbols are merged by another algorithm than longer
  // ones.
  Tokenizer tokenizer = test::make(test::byteLevel().spec);
  for (size_t count : {1, 5, 9, 10, 11, 20, 1000}) {
    std::string text;
    for (size_t i = 0; i < count; ++i)
      text += "hello";
    EXPECT_EQ(test::encode(tokenizer, text),
              std::vector<TokenId>(count, *tokenizer.tokenId("hello")));
  }
}

TEST(Tokenizer, TakesALongRunInAboutLinearTime) {
  test::SpecBuilder builder = test::byteLevel();
  std::string run = "a";
  for (int i = 0; i < 6; ++i, run += run)
    builder.merge(run, run);
  Tokenizer tokenizer = test::make(builder.spec);
  std::string text(1 << 20, 'a');
  EXPECT_EQ(test::encode(tokenizer, text).size(), text.size() / 64);
}

TEST(Tokenizer, FindsAddedTokens) {
  test::SpecBuilder builder = test::byteLevel();
  builder.added("<end>x");
  builder.added("<left>").lstrip = true;
  builder.added("<right>").rstrip = true;
  builder.added("word").singleWord = true;
  builder.spec.tokens[builder.find("<end>x")].type = TokenType::Added;
  Tokenizer tokenizer = test::make(builder.spec);
  EXPECT_THAT(spelt(tokenizer, "<end><end>x<end"),
              ElementsAre("<end>", "<end>x", "<", "e", "n", "d"));
  EXPECT_THAT(spelt(tokenizer, "a \n<left> b"),
              ElementsAre("a", "<left>", "Ġ", "b"));
  EXPECT_THAT(spelt(tokenizer, "a <right> \u00A0b"),
              ElementsAre("a", "Ġ", "<right>", "b"));
  EXPECT_THAT(spelt(tokenizer, "word-word"), ElementsAre("word", "-", "word"));
  EXPECT_THAT(spelt(tokenizer, "words"), ElementsAre("w", "o", "r", "d", "s"));
}

TEST(Tokenizer, TakesSpecialTokensAsTextWhenAsked) {
  Tokenizer tokenizer = test::make(test::byteLevel().spec);
  auto ids = tokenizer.encode("<end>", true, /*parseSpecial=*/false);
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(ids->size(), 5u);
  EXPECT_TRUE(tokenizer.isSpecial(*tokenizer.tokenId("<end>")));
}

TEST(Tokenizer, TakesSpecialTokensAtLiteralPlacesAsText) {
  test::SpecBuilder builder = test::byteLevel();
  builder.added("nd>").special = true;
  Tokenizer tokenizer = test::make(builder.spec);
  auto encode = [&](std::vector<size_t> literal) {
    return *tokenizer.encode("<end>a<end>", false, true, literal);
  };
  const TokenId end = *tokenizer.tokenId("<end>");
  const std::vector<TokenId> text =
      *tokenizer.encode("a<end>", false, /*parseSpecial=*/false);
  std::vector<TokenId> first = {end};
  first.insert(first.end(), text.begin(), text.end());
  EXPECT_EQ(encode({6, 8}), first);
  EXPECT_EQ(encode({}).back(), end);
  // A special token that begins inside the literal spelling still counts.
  EXPECT_EQ(encode({6}).back(), *tokenizer.tokenId("nd>"));
  // The same holds for tokens that are looked for in the normalized text.
  for (AddedToken &added : builder.spec.addedTokens)
    added.normalized = true;
  tokenizer = test::make(builder.spec);
  EXPECT_EQ(encode({0, 2, 6, 8}), *tokenizer.encode("<end>a<end>", false,
                                                    /*parseSpecial=*/false));
}

TEST(Tokenizer, PutsTheTemplateAround) {
  test::SpecBuilder builder = test::byteLevel();
  builder.spec.prefix = {1, 2};
  builder.spec.suffix = {3};
  Tokenizer tokenizer = test::make(builder.spec);
  EXPECT_THAT(test::encode(tokenizer, ""), ElementsAre(1, 2, 3));
  EXPECT_TRUE(tokenizer.encode("", /*addSpecial=*/false)->empty());
}

TEST(Tokenizer, MergesByScore) {
  Tokenizer tokenizer = test::make(test::sentencePiece({{"▁", -9},
                                                        {"a", -9},
                                                        {"b", -9},
                                                        {"ab", -2},
                                                        {"ba", -1},
                                                        {"▁ab", -3}})
                                       .spec);
  EXPECT_THAT(spelt(tokenizer, "ab"), ElementsAre("<s>", "▁ab"));
  EXPECT_THAT(spelt(tokenizer, "aba"), ElementsAre("<s>", "▁", "a", "ba"));
  EXPECT_THAT(spelt(tokenizer, "é"),
              ElementsAre("<s>", "▁", "<0xC3>", "<0xA9>"));
  EXPECT_EQ(tokenizer.decode(test::encode(tokenizer, "ab é"), true), "ab é");
}

TEST(Tokenizer, FindsTheBestSegmentation) {
  test::SpecBuilder builder;
  builder.spec.kind = ModelKind::Unigram;
  builder.spec.unknown = builder.token("<unk>");
  builder.token("a", -1);
  builder.token("b", -1);
  builder.token("ab", -3);
  builder.token("bab", -1.5);
  Tokenizer tokenizer = test::make(builder.spec);
  EXPECT_THAT(spelt(tokenizer, "abab"), ElementsAre("a", "bab"));
  EXPECT_THAT(spelt(tokenizer, "ab"), ElementsAre("a", "b"));
  // A run of unknown characters is one token.
  EXPECT_THAT(spelt(tokenizer, "axya"), ElementsAre("a", "<unk>", "a"));
}

TEST(Tokenizer, RefusesWhatItHasNoTokenFor) {
  test::SpecBuilder builder;
  builder.spec.kind = ModelKind::Unigram;
  builder.token("a", -1);
  Tokenizer tokenizer = test::make(builder.spec);
  auto ids = tokenizer.encode("a\u00E9");
  ASSERT_FALSE(ids.ok());
  EXPECT_THAT(ids.status().message(), HasSubstr("no token for U+00E9"));
}

TEST(Tokenizer, IsSharedByThreads) {
  Tokenizer tokenizer = test::make(test::byteLevel().spec);
  std::string text = test::randomText(5, 5000) + " hello hello";
  std::vector<TokenId> expected = test::encode(tokenizer, text);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, tokenizer] {
      for (int round = 0; round < 5; ++round)
        EXPECT_EQ(test::encode(tokenizer, text), expected);
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
