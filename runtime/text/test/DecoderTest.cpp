//===- DecoderTest.cpp - tests of decoding token by token -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/Decoder.h"

#include "TestSpecs.h"
#include "runtime/text/Detokenizer.h"
#include "runtime/text/Utf8.h"

#include <gmock/gmock.h>
#include <random>

using namespace sluice;
using namespace sluice::text;
using testing::HasSubstr;

using Kind = DecoderStep::Kind;

namespace {

std::string decode(const std::vector<DecoderStep> &steps,
                   const std::vector<std::string> &tokens) {
  Expected<Decoder> decoder = Decoder::create(steps);
  EXPECT_TRUE(decoder.ok()) << decoder.status().message();
  if (!decoder)
    return {};
  DecoderState state;
  std::string text;
  for (const std::string &token : tokens) {
    std::string part = decoder->push(token, state);
    EXPECT_TRUE(isValidUtf8(part));
    text += part;
  }
  return text + decoder->flush(state);
}

DecoderStep strip(std::string content, uint32_t start, uint32_t stop) {
  DecoderStep step{Kind::Strip, "", std::move(content)};
  step.start = start;
  step.stop = stop;
  return step;
}

TEST(Decoder, JoinsWithSpacesWithoutSteps) {
  EXPECT_EQ(decode({}, {"a", "b"}), "a b");
}

TEST(Decoder, WaitsForWholeCharacters) {
  Expected<Decoder> decoder = Decoder::create({{Kind::ByteLevel}});
  ASSERT_TRUE(decoder.ok());
  DecoderState state;
  EXPECT_EQ(decoder->push("ðŁĺ", state), ""); // three bytes of U+1F600
  EXPECT_EQ(decoder->push("Ģa", state), "\U0001F600a");
  EXPECT_EQ(decoder->push("ðŁ", state), "");
  EXPECT_EQ(decoder->push("b", state), "\uFFFDb");
  EXPECT_EQ(decoder->push("ðŁ", state), "");
  EXPECT_EQ(decoder->flush(state), "\uFFFD");
  EXPECT_EQ(decoder->flush(state), "");
}

TEST(Decoder, MakesBytesOfByteTokens) {
  std::vector<DecoderStep> steps = {{Kind::ReplaceString, "▁", " "},
                                    {Kind::ByteFallback},
                                    {Kind::Fuse},
                                    strip(" ", 1, 0)};
  EXPECT_EQ(decode(steps, {"▁a", "<0xC3>", "<0xA9>", "▁▁b"}), "aé  b");
  EXPECT_EQ(decode(steps, {"<0xC3>", "b"}), "\uFFFDb");
  EXPECT_EQ(decode(steps, {"▁", "▁"}), " ");
  EXPECT_EQ(decode(steps, {"<0xE3>", "<0x81>"}), "\uFFFD\uFFFD");
  EXPECT_EQ(decode(steps, {"<0xZZ>"}), "<0xZZ>");
}

TEST(Decoder, KeepsRunsOfByteTokensWhenAsked) {
  Expected<Decoder> decoder =
      Decoder::create({{Kind::ByteFallback}, {Kind::Fuse}});
  ASSERT_TRUE(decoder.ok());
  DecoderState state;
  state.keepRuns = true;
  EXPECT_EQ(decoder->push("<0x41>", state), "");
  EXPECT_EQ(decoder->push("<0xFF>", state), "");
  EXPECT_EQ(decoder->push("b", state), "\uFFFD\uFFFDb");
  EXPECT_EQ(decoder->push("<0x41>", state), "");
  EXPECT_EQ(decoder->flush(state), "A");
}

TEST(Decoder, StripsTheEndsOfTheTextOnly) {
  EXPECT_EQ(decode({{Kind::Fuse}, strip("x", 2, 1)}, {"x", "xx", "a", "xx"}),
            "xax");
  EXPECT_EQ(decode({strip("x", 1, 1)}, {"xax", "xxbx"}), "axb");
  EXPECT_EQ(decode({{Kind::Fuse}, strip("x", 0, 2)}, {"ax", "b", "x", "x"}),
            "axb");
}

TEST(Decoder, DropsTheSpaceOfTheFirstToken) {
  DecoderStep step{Kind::Metaspace, "▁"};
  EXPECT_EQ(decode({step}, {"▁a", "▁b"}), "a b");
  step.scheme = PrependScheme::Never;
  EXPECT_EQ(decode({step}, {"▁a", "▁b"}), " a b");
}

TEST(Decoder, RefusesWhatNeedsTheWholeText) {
  for (const std::vector<DecoderStep> &steps :
       {std::vector<DecoderStep>{{Kind::Fuse}, {Kind::ReplaceString, "ab", ""}},
        {{Kind::ByteLevel}, {Kind::Metaspace, "▁"}},
        {{Kind::ByteFallback}, strip("x", 1, 0)},
        {{Kind::ReplaceString, "", "x"}}}) {
    Expected<Decoder> decoder = Decoder::create(steps);
    ASSERT_FALSE(decoder.ok());
    EXPECT_THAT(decoder.status().message(), HasSubstr("decoder: "));
  }
}

TEST(Detokenizer, GivesTheTextOfDecode) {
  Tokenizer tokenizer = test::make(test::byteLevel().spec);
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    Detokenizer detokenizer(tokenizer);
    std::vector<TokenId> ids;
    std::string text;
    for (int i = 0; i < 20; ++i) {
      ids.push_back(static_cast<TokenId>(random() % 262));
      std::string part = detokenizer.push(ids.back());
      EXPECT_TRUE(isValidUtf8(part));
      text += part;
    }
    EXPECT_EQ(text + detokenizer.flush(), tokenizer.decode(ids));
  }
}

TEST(Detokenizer, LeavesSpecialTokensOutWhenAsked) {
  test::SpecBuilder builder = test::byteLevel();
  Tokenizer tokenizer = test::make(builder.spec);
  std::vector<TokenId> ids = test::encode(tokenizer, "a<end>b");
  EXPECT_EQ(tokenizer.decode(ids), "a<end>b");
  EXPECT_EQ(tokenizer.decode(ids, /*skipSpecial=*/true), "ab");
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{-1, 9999, 66}), "B");
}

} // namespace
