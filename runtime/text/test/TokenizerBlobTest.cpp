//===- TokenizerBlobTest.cpp - tests of valid and damaged blobs -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/TokenizerBlob.h"

#include "TestSpecs.h"

#include <gmock/gmock.h>
#include <random>

using namespace sluice;
using namespace sluice::text;
using testing::HasSubstr;

namespace {

/// Returns a spec that uses every field.
TokenizerSpec everything() {
  TokenizerSpec spec = test::byteLevel().spec;
  spec.normalizer = {{NormalizerStep::Kind::Strip, "", "", true, false},
                     {NormalizerStep::Kind::ReplaceRegex, "a+", "b"}};
  PreTokenizerStep split;
  split.pattern = "x";
  split.behavior = SplitBehavior::MergedWithNext;
  split.invert = true;
  spec.preTokenizer.push_back(split);
  DecoderStep strip{DecoderStep::Kind::Strip, "", " "};
  strip.start = 3;
  spec.decoder.push_back(strip);
  spec.addedTokens[0].lstrip = true;
  spec.prefix = {1};
  spec.suffix = {2, 3};
  spec.unknown = 4;
  spec.beginOfText = 5;
  spec.ignoreMerges = true;
  spec.chatTemplate = "{{ messages }}";
  spec.toolTemplate = "{{ tools }}";
  spec.tokens[9].score = -1.25;
  return spec;
}

TEST(TokenizerBlob, HoldsEverything) {
  std::vector<uint8_t> blob = serializeTokenizer(everything());
  Expected<TokenizerSpec> spec = parseTokenizer(blob);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(serializeTokenizer(*spec), blob);
  EXPECT_EQ(spec->tokens[9].score, -1.25);
  EXPECT_EQ(spec->normalizer[1].content, "b");
  EXPECT_EQ(spec->preTokenizer[1].behavior, SplitBehavior::MergedWithNext);
  EXPECT_EQ(spec->decoder[1].start, 3u);
  EXPECT_EQ(spec->suffix, (std::vector<TokenId>{2, 3}));
  EXPECT_EQ(spec->unknown, 4);
  EXPECT_TRUE(spec->addedTokens[0].lstrip);
  EXPECT_EQ(spec->chatTemplate, "{{ messages }}");
  EXPECT_EQ(spec->toolTemplate, "{{ tools }}");
  EXPECT_TRUE(Tokenizer::load(blob).ok());
}

TEST(TokenizerBlob, RefusesEveryLengthButItsOwn) {
  std::vector<uint8_t> blob = serializeTokenizer(everything());
  for (size_t size = 0; size < blob.size(); ++size)
    ASSERT_FALSE(parseTokenizer({blob.data(), size}).ok()) << size;
  blob.push_back(0);
  Expected<TokenizerSpec> longer = parseTokenizer(blob);
  ASSERT_FALSE(longer.ok());
  EXPECT_THAT(longer.status().message(), HasSubstr("left over"));
}

TEST(TokenizerBlob, RefusesOtherBytes) {
  std::vector<uint8_t> blob = serializeTokenizer(everything());
  blob[8] = 99;
  EXPECT_THAT(parseTokenizer(blob).status().message(), HasSubstr("version 99"));
  blob[0] = 'X';
  EXPECT_THAT(parseTokenizer(blob).status().message(),
              HasSubstr("not a tokenizer"));
}

TEST(TokenizerBlob, SurvivesRandomDamage) {
  const std::vector<uint8_t> blob = serializeTokenizer(everything());
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint8_t> damaged = blob;
    for (int i = 0; i < 3; ++i)
      damaged[12 + random() % (damaged.size() - 12)] =
          static_cast<uint8_t>(random());
    Expected<Tokenizer> tokenizer = Tokenizer::load(damaged);
    if (tokenizer)
      (void)tokenizer->encode("hello <end> 12 \u00E9");
  }
}

} // namespace
