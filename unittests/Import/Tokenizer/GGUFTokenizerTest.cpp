//===- GGUFTokenizerTest.cpp - tokenizers from GGUF files -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same tokenizers as in TokenizerJsonTest.cpp, written to GGUF files, must
// give the same ids. For SentencePiece's models the expected ids come from
// SentencePiece.
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/GGUF/GGUFTokenizer.h"

#include "GoldenCases.h"

using namespace sluice;
using namespace sluice::text;
using nlohmann::json;

namespace {

class GGUFTokenizer : public testing::TestWithParam<const char *> {};

Expected<Tokenizer> open(const std::string &path) {
  Expected<gguf::GGUFFile> file = gguf::GGUFFile::open(path);
  if (!file)
    return file.status();
  Expected<TokenizerSpec> spec = gguf::readTokenizer(*file);
  if (!spec)
    return spec.status();
  return Tokenizer::create(spec.take());
}

TEST_P(GGUFTokenizer, GivesTheExpectedIds) {
  std::string folder = test::golden(GetParam());
  Expected<Tokenizer> tokenizer = open(folder + "/tokenizer.gguf");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  json cases = test::readGolden(folder + "/cases.json");
  // If special tokens in a text are to be plain text, Hugging Face's unigram
  // model still finds them; the one from a GGUF file does not.
  bool plain = tokenizer->spec().kind != ModelKind::Unigram;
  test::checkEncoding(*tokenizer, cases["cases"], plain);
}

INSTANTIATE_TEST_SUITE_P(Golden, GGUFTokenizer,
                         testing::Values("gpt2", "llama3", "qwen2", "falcon",
                                         "starcoder", "tekken", "bloom", "spm",
                                         "spm-plain", "t5"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(DemoGGUFTokenizer, GivesTheReferenceIds) {
  std::string demo = std::string(SLUICE_TEST_MODELS) + "/demo";
  Expected<Tokenizer> tokenizer = open(demo + "/target-q8_0.gguf");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  json reference = test::readGolden(demo + "/reference.json");
  for (const json &expected : reference["tokenizer"]) {
    auto text = expected["text"].get<std::string>();
    auto ids = tokenizer->encode(text);
    ASSERT_TRUE(ids.ok());
    EXPECT_EQ(json(*ids), expected["ids"]) << expected["text"];
    EXPECT_EQ(tokenizer->decode(*ids), text);
  }
}

} // namespace
