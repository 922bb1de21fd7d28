//===- TestSpecs.cpp - small tokenizers for tests -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSpecs.h"

#include "runtime/text/ByteAlphabet.h"
#include "runtime/text/Utf8.h"

#include <gtest/gtest.h>
#include <random>

using namespace sluice;
using namespace sluice::text;
using namespace sluice::text::test;

TokenId SpecBuilder::token(const std::string &text, double score,
                           TokenType type) {
  spec.tokens.push_back({text, score, type});
  return static_cast<TokenId>(spec.tokens.size() - 1);
}

TokenId SpecBuilder::find(const std::string &text) const {
  for (size_t id = 0; id < spec.tokens.size(); ++id)
    if (spec.tokens[id].text == text)
      return static_cast<TokenId>(id);
  return -1;
}

AddedToken &SpecBuilder::added(const std::string &text) {
  AddedToken token;
  token.id = find(text);
  if (token.id < 0)
    token.id = this->token(text, 0, TokenType::Added);
  spec.addedTokens.push_back(token);
  return spec.addedTokens.back();
}

void SpecBuilder::merge(const std::string &left, const std::string &right) {
  if (find(left + right) < 0)
    token(left + right);
  spec.merges.push_back({find(left), find(right), find(left + right)});
}

SpecBuilder test::byteLevel() {
  SpecBuilder builder;
  for (int byte = 0; byte < 256; ++byte)
    builder.token(std::string(byteSpelling(static_cast<uint8_t>(byte))));
  builder.merge("h", "e");
  builder.merge("l", "l");
  builder.merge("he", "ll");
  builder.merge("hell", "o");
  builder.merge(std::string(byteSpelling(' ')), "hello");
  builder.added("<end>").special = true;
  builder.spec.endOfText = {builder.find("<end>")};
  PreTokenizerStep words;
  words.kind = PreTokenizerStep::Kind::ByteLevel;
  words.flag = true;
  builder.spec.preTokenizer = {words};
  builder.spec.decoder = {{DecoderStep::Kind::ByteLevel}};
  return builder;
}

SpecBuilder
test::sentencePiece(const std::vector<std::pair<std::string, double>> &texts) {
  using Step = DecoderStep::Kind;
  SpecBuilder builder;
  builder.spec.kind = ModelKind::SentencePieceBPE;
  builder.token("<unk>", 0, TokenType::Unknown);
  builder.token("<s>", 0, TokenType::Control);
  const char *digits = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte)
    builder.token(std::string("<0x") + digits[byte >> 4] + digits[byte & 15] +
                      ">",
                  0, TokenType::Byte);
  for (const auto &[text, score] : texts)
    builder.token(text, score);
  builder.added("<s>").special = true;
  builder.spec.unknown = 0;
  builder.spec.prefix = {1};
  builder.spec.byteFallback = true;
  builder.spec.normalizer = {{NormalizerStep::Kind::Prepend, "", "▁"},
                             {NormalizerStep::Kind::ReplaceString, " ", "▁"}};
  DecoderStep strip{Step::Strip, "", " "};
  strip.start = 1;
  builder.spec.decoder = {{Step::ReplaceString, "▁", " "},
                          {Step::ByteFallback},
                          {Step::Fuse},
                          strip};
  return builder;
}

Tokenizer test::make(const TokenizerSpec &spec) {
  Expected<Tokenizer> tokenizer = Tokenizer::create(spec);
  if (!tokenizer) {
    ADD_FAILURE() << tokenizer.status().message();
    return make(byteLevel().spec);
  }
  return tokenizer.take();
}

std::vector<TokenId> test::encode(const Tokenizer &tokenizer,
                                  std::string_view text) {
  Expected<std::vector<TokenId>> ids = tokenizer.encode(text);
  EXPECT_TRUE(ids.ok()) << ids.status().message();
  return ids ? ids.take() : std::vector<TokenId>();
}

std::string test::randomText(uint32_t seed, size_t characters) {
  std::mt19937 random(seed);
  std::string text;
  for (size_t i = 0; i < characters; ++i) {
    uint32_t code = random() % 4 ? random() % 0x80 : random() % 0x110000;
    if (code < 0xD800 || code >= 0xE000)
      appendCodePoint(text, code);
  }
  return text;
}
