//===- GoldenCases.cpp - expected ids, made by Hugging Face ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GoldenCases.h"

#include "runtime/text/Detokenizer.h"
#include "runtime/text/Utf8.h"

using namespace sluice;
using namespace sluice::text;
using nlohmann::json;

static std::vector<TokenId> encoded(const Tokenizer &tokenizer,
                                    const std::string &text, bool addSpecial,
                                    bool parseSpecial) {
  auto ids = tokenizer.encode(text, addSpecial, parseSpecial);
  EXPECT_TRUE(ids.ok()) << ids.status().message();
  return ids ? ids.take() : std::vector<TokenId>();
}

static std::string streamed(const Tokenizer &tokenizer,
                            const std::vector<TokenId> &ids) {
  Detokenizer detokenizer(tokenizer);
  std::string text;
  for (TokenId id : ids)
    text += detokenizer.push(id);
  return text + detokenizer.flush();
}

void test::checkEncoding(const Tokenizer &tokenizer, const json &cases,
                         bool plain) {
  json texts = readGolden(golden("texts.json"));
  ASSERT_FALSE(cases.empty());
  for (size_t i = 0; i < cases.size(); ++i) {
    const json &expected = cases[i];
    auto text = texts[expected.value("index", i)].get<std::string>();
    SCOPED_TRACE("text " + json(text).dump());
    std::vector<TokenId> ids;
    if (expected.contains("ids")) {
      ids = encoded(tokenizer, text, true, true);
      EXPECT_EQ(json(ids), expected["ids"]);
    }
    if (plain) {
      std::vector<TokenId> plainIds = encoded(tokenizer, text, false, false);
      EXPECT_EQ(json(plainIds),
                expected[expected.contains("plain") ? "plain" : "ids"]);
      if (!expected.contains("ids"))
        ids = plainIds;
    }
    std::string decoded = tokenizer.decode(ids);
    EXPECT_EQ(decoded, expected.value("text", text));
    EXPECT_EQ(streamed(tokenizer, ids), decoded);
    if (expected.contains("skipped"))
      EXPECT_EQ(tokenizer.decode(ids, true),
                expected["skipped"].get<std::string>());
  }
}

void test::checkDecoding(const Tokenizer &tokenizer, const json &cases) {
  for (const json &expected : cases) {
    SCOPED_TRACE("ids " + expected["ids"].dump());
    auto ids = expected["ids"].get<std::vector<TokenId>>();
    std::string text = tokenizer.decode(ids);
    EXPECT_EQ(text, expected["text"].get<std::string>());
    // If byte tokens do not make up characters, decoding at once and streaming
    // differ by design.
    bool complete = text.find(replacementCharacter) == std::string::npos;
    if (complete || !tokenizer.spec().byteFallback)
      EXPECT_EQ(streamed(tokenizer, ids), text);
  }
}
