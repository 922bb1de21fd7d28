//===- TokenizerConfigTest.cpp - tests of TokenizerConfig.h ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../TemporaryFolder.h"
#include "runtime/text/Tokenizer.h"
#include "sluice/Import/HuggingFace/TokenizerJson.h"

#include <filesystem>
#include <gmock/gmock.h>

using namespace sluice;
using namespace sluice::text;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

/// A tokenizer with the tokens a, b, ab and the special token <s>, whose id is
/// 3.
constexpr std::string_view tokenizerJson =
    R"({"version":"1.0","added_tokens":[{"id":3,"content":"<s>",)"
    R"("single_word":false,"lstrip":false,"rstrip":false,)"
    R"("normalized":false,"special":true}],"normalizer":null,)"
    R"("pre_tokenizer":null,"post_processor":null,"decoder":null,)"
    R"("model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},)"
    R"("merges":["a b"]}})";

/// A tokenizer and the warnings about it.
struct Made {
  TokenizerSpec spec;
  std::vector<std::string> warnings;

  std::vector<TokenId> encode(std::string_view text) const {
    Expected<Tokenizer> tokenizer = Tokenizer::create(spec);
    return tokenizer ? tokenizer->encode(text).take() : std::vector<TokenId>();
  }
  bool isSpecial(TokenId id) const {
    Expected<Tokenizer> tokenizer = Tokenizer::create(spec);
    return tokenizer && tokenizer->isSpecial(id);
  }
};

Made make(std::string_view config, std::string_view addedTokens = "") {
  Made made;
  Expected<TokenizerSpec> spec =
      hf::parseTokenizerJson({.tokenizer = tokenizerJson,
                              .config = config,
                              .addedTokens = addedTokens},
                             &made.warnings);
  if (spec)
    made.spec = spec.take();
  else
    ADD_FAILURE() << spec.status().message();
  return made;
}

TEST(TokenizerConfig, AddedTokensOfTheirOwnFileCount) {
  Made made = make("", R"({"<extra>": 4})");
  EXPECT_THAT(made.warnings, IsEmpty());
  EXPECT_THAT(made.encode("a<extra>ab"), ElementsAre(0, 4, 2));
  EXPECT_FALSE(made.isSpecial(4));
}

TEST(TokenizerConfig, AddedTokensOfTheConfigurationCount) {
  Made made = make(R"({"added_tokens_decoder": {
      "3": {"content": "<s>", "special": true},
      "10": {"content": "<b>", "special": false},
      "4": {"content": "<a>", "special": true, "lstrip": true}}})");
  EXPECT_THAT(made.encode("a <a>b<b><s>"), ElementsAre(0, 4, 1, 5, 3));
  EXPECT_TRUE(made.isSpecial(4));
  EXPECT_FALSE(made.isSpecial(5));
  EXPECT_THAT(made.warnings, ElementsAre("tokenizer_config.json: token '<b>' "
                                         "has the id 5, not 10"));
}

TEST(TokenizerConfig, WhatIsNotRightIsLeftOutAlone) {
  Made made = make(R"({"added_tokens_decoder": {
      "x": {"content": "<x>"}, "4": {"content": ""},
      "5": {"content": "<y>", "special": 3}, "6": {"content": "<z>"}}})",
                   R"({"<v>": "7", "": 8, "<w>": 9, "<u>": 9})");
  EXPECT_THAT(made.encode("<z><u><w>"), ElementsAre(4, 5, 6));
  EXPECT_THAT(
      made.warnings,
      testing::IsSupersetOf(
          {"tokenizer_config.json: added_tokens_decoder: 'x' is not a token "
           "id; the token is left out",
           "tokenizer_config.json: added_tokens_decoder.4.content: empty; the "
           "token is left out",
           "tokenizer_config.json: added_tokens_decoder.5.special: not true "
           "or false; the token is left out",
           "added_tokens.json: the id of '<v>' is not a token id; the token "
           "is left out",
           "added_tokens.json: the id of '' is not a token id; the token is "
           "left out"}));
}

TEST(TokenizerConfig, ATokenOfTheVocabularyKeepsItsId) {
  Made made = make("", R"({"ab": 2, "<s>": 3})");
  EXPECT_THAT(made.warnings, IsEmpty());
  EXPECT_EQ(made.spec.tokens.size(), 4U);
  EXPECT_THAT(made.spec.addedTokens, testing::SizeIs(2));
}

TEST(TokenizerConfig, TokensThatItNamesAreSpecial) {
  Made made = make(R"({"pad_token": "<pad>", "bos_token": {"content": "<s>"},
                       "additional_special_tokens": ["<x>"]})",
                   R"({"<pad>": 4, "<x>": 5, "<y>": 6})");
  EXPECT_TRUE(made.isSpecial(4));
  EXPECT_TRUE(made.isSpecial(5));
  EXPECT_FALSE(made.isSpecial(6));
  EXPECT_EQ(made.spec.beginOfText, 3);
}

TEST(TokenizerConfig, TokensThatNobodyHasAreLeftOut) {
  Made made = make(R"({"bos_token": "<s>", "eos_token": "</s>"})");
  EXPECT_EQ(made.spec.beginOfText, 3);
  EXPECT_THAT(made.spec.endOfText, IsEmpty());
  EXPECT_THAT(made.warnings,
              ElementsAre("tokenizer_config.json: eos_token: '</s>' is not in "
                          "the vocabulary and is left out"));
}

TEST(TokenizerConfig, TemplatesHaveNames) {
  Made made = make(R"({"chat_template": [
      {"name": "rag", "template": "r"}, {"name": "default", "template": "d"},
      {"name": "tool_use", "template": "t"}]})");
  EXPECT_EQ(made.spec.chatTemplate, "d");
  EXPECT_EQ(made.spec.toolTemplate, "t");
  made = make(R"({"chat_template": "d"})");
  EXPECT_EQ(made.spec.chatTemplate, "d");
  EXPECT_EQ(made.spec.toolTemplate, "");
}

TEST(TokenizerConfig, FilesOfTemplatesReplaceIt) {
  TemporaryFolder folder;
  folder.write("tokenizer.json", tokenizerJson);
  folder.write("tokenizer_config.json",
               R"({"chat_template": [{"name": "default", "template": "d"},
                                     {"name": "tool_use", "template": "t"}]})");
  folder.write("added_tokens.json", R"({"<extra>": 9})");
  std::vector<std::string> warnings;
  Expected<TokenizerSpec> spec =
      hf::readTokenizerJson(folder.path(), &warnings);
  ASSERT_TRUE(spec) << spec.status().message();
  EXPECT_EQ(spec->chatTemplate, "d");
  EXPECT_EQ(spec->toolTemplate, "t");
  EXPECT_THAT(warnings, ElementsAre(folder.path() +
                                    "/added_tokens.json: token '<extra>' has "
                                    "the id 4, not 9"));
  folder.write("chat_template.jinja", "D");
  std::filesystem::create_directory(folder.path() +
                                    "/additional_chat_templates");
  folder.write("additional_chat_templates/tool_use.jinja", "T");
  spec = hf::readTokenizerJson(folder.path());
  ASSERT_TRUE(spec) << spec.status().message();
  EXPECT_EQ(spec->chatTemplate, "D");
  EXPECT_EQ(spec->toolTemplate, "T");
}

} // namespace
