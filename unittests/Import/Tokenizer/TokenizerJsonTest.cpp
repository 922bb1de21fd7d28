//===- TokenizerJsonTest.cpp - tokenizer.json against Hugging Face's ids --===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The expected ids and texts are those of Hugging Face's tokenizers for the
// same tokenizer.json; runtime/text/test/make_golden.py made both.
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/HuggingFace/TokenizerJson.h"

#include "GoldenCases.h"
#include "runtime/text/TokenizerBlob.h"

using namespace sluice;
using namespace sluice::text;
using nlohmann::json;

namespace {

class TokenizerJson : public testing::TestWithParam<const char *> {};

Expected<Tokenizer> open(const std::string &folder) {
  Expected<TokenizerSpec> spec = hf::readTokenizerJson(folder);
  if (!spec)
    return spec.status();
  return Tokenizer::create(spec.take());
}

TEST_P(TokenizerJson, GivesTheIdsOfHuggingFace) {
  Expected<Tokenizer> tokenizer = open(test::golden(GetParam()));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  json cases =
      test::readGolden(test::golden(std::string(GetParam()) + "/cases.json"));
  test::checkEncoding(*tokenizer, cases["cases"]);
  test::checkDecoding(*tokenizer, cases["decode"]);
}

TEST_P(TokenizerJson, SurvivesTheBlob) {
  Expected<TokenizerSpec> spec =
      hf::readTokenizerJson(test::golden(GetParam()));
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  std::vector<uint8_t> blob = serializeTokenizer(*spec);
  Expected<TokenizerSpec> again = parseTokenizer(blob);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(serializeTokenizer(*again), blob);
  Expected<Tokenizer> tokenizer = Tokenizer::load(blob);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  json cases =
      test::readGolden(test::golden(std::string(GetParam()) + "/cases.json"));
  test::checkEncoding(*tokenizer, cases["cases"]);
}

INSTANTIATE_TEST_SUITE_P(
    Golden, TokenizerJson,
    testing::Values("gpt2", "llama3", "qwen2", "falcon", "starcoder", "tekken",
                    "bloom", "roberta", "llama2", "mistral", "t5",
                    "unigram-bytes", "mix-words", "mix-removed", "mix-previous",
                    "mix-next", "mix-contiguous", "mix-invert"),
    [](const auto &info) {
      std::string name = info.param;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(DemoTokenizer, GivesTheReferenceIds) {
  std::string demo = std::string(SLUICE_TEST_MODELS) + "/demo";
  Expected<Tokenizer> tokenizer = open(demo + "/target");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  json reference = test::readGolden(demo + "/reference.json");
  for (const json &expected : reference["tokenizer"]) {
    auto text = expected["text"].get<std::string>();
    auto ids = tokenizer->encode(text);
    ASSERT_TRUE(ids.ok());
    EXPECT_EQ(json(*ids), expected["ids"]) << expected["text"];
    EXPECT_EQ(tokenizer->decode(*ids), text);
  }
  for (const json &greedy : reference["greedy"]) {
    auto ids = tokenizer->encode(greedy["prompt"].get<std::string>());
    ASSERT_TRUE(ids.ok());
    EXPECT_EQ(json(*ids), greedy["prompt_tokens"]);
    EXPECT_EQ(tokenizer->decode(greedy["tokens"].get<std::vector<TokenId>>()),
              greedy["text"].get<std::string>());
  }
  EXPECT_EQ(tokenizer->spec().endOfText, std::vector<TokenId>{0});
  EXPECT_FALSE(tokenizer->spec().chatTemplate.empty());
}

} // namespace
