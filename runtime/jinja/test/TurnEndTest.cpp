//===- TurnEndTest.cpp - tests of what ends a turn in templates -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/TurnEnd.h"
#include "runtime/text/test/TestSpecs.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace sluice;
using namespace sluice::text;

namespace {

/// Makes a tokenizer that has the tokens of many models, and ends texts with
/// <end>.
Tokenizer makeTokenizer() {
  test::SpecBuilder builder = test::byteLevel();
  for (const char *token :
       {"<begin>", "<|im_start|>", "<|im_end|>", "<|eot_id|>", "<end_of_turn>",
        "<|end|>", "<|return|>", "<|user|>", "<|END_OF_TURN_TOKEN|>",
        "<｜end▁of▁sentence｜>", "[INST]"})
    builder.added(token).special = true;
  builder.spec.beginOfText = builder.find("<begin>");
  builder.spec.endOfText = {builder.find("<end>")};
  return test::make(builder.spec);
}

/// Returns the spelling of the token that ends a turn; empty if none is found.
std::string endOf(const std::string &source) {
  static const Tokenizer tokenizer = makeTokenizer();
  Expected<ChatTemplate> chat = ChatTemplate::compile(source);
  EXPECT_TRUE(chat) << chat.status().message();
  std::optional<TokenId> end = findTurnEnd(*chat, tokenizer);
  return end ? std::string(tokenizer.tokenText(*end)) : "";
}

std::string endOfFile(const std::string &name) {
  std::ifstream file(std::string(SLUICE_CHAT_TEMPLATE_TESTS) + "/templates/" +
                     name + ".jinja");
  return endOf({std::istreambuf_iterator<char>(file), {}});
}

} // namespace

TEST(TurnEndTest, IsWhatPublishedTemplatesWriteBehindAnAnswer) {
  for (auto [name, end] :
       {std::pair{"chatml", "<|im_end|>"},
        std::pair{"command-r", "<|END_OF_TURN_TOKEN|>"},
        std::pair{"deepseek-r1", "<｜end▁of▁sentence｜>"},
        std::pair{"deepseek-v2", "<end>"}, std::pair{"falcon", ""},
        std::pair{"gemma", "<end_of_turn>"},
        std::pair{"gemma3", "<end_of_turn>"}, std::pair{"llama2", "<end>"},
        std::pair{"llama3", "<|eot_id|>"}, std::pair{"llama31", "<|eot_id|>"},
        std::pair{"mistral-tekken", "<end>"}, std::pair{"mistral-v1", "<end>"},
        std::pair{"mistral-v3", "<end>"}, std::pair{"phi3", "<|end|>"},
        std::pair{"phi4", "<|im_end|>"}, std::pair{"qwen25", "<|im_end|>"},
        std::pair{"qwen3", "<|im_end|>"}, std::pair{"zephyr", "<end>"}})
    EXPECT_EQ(endOfFile(name), end) << name;
}

/// The end of the last turn counts if it differs from those before, whose token
/// may end only a part of an answer.
TEST(TurnEndTest, TheLastTurnCounts) {
  EXPECT_EQ(endOf("{% for m in messages %}{{ m.content }}"
                  "{{ '<|return|>' if loop.last else '<|end|>' }}"
                  "{% endfor %}"),
            "<|return|>");
}

TEST(TurnEndTest, WithoutOneTheNextTurnsBeginningCounts) {
  EXPECT_EQ(endOf("{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}\n"
                  "{% endfor %}"),
            "<|user|>");
}

TEST(TurnEndTest, TextIsNoToken) {
  EXPECT_EQ(endOf("{% for m in messages %}{{ m.role }}: {{ m.content }}\n"
                  "{% endfor %}"),
            "");
}

TEST(TurnEndTest, PartsAreMadeForTemplatesThatWantThem) {
  EXPECT_EQ(endOf("{% for m in messages %}{% for part in m.content %}"
                  "{{ part.text }}{% endfor %}<|im_end|>{% endfor %}"),
            "<|im_end|>");
}

TEST(TurnEndTest, ATemplateThatRefusesTheConversationHasNone) {
  EXPECT_EQ(endOf("{{ raise_exception('no') }}<|im_end|>"), "");
  EXPECT_EQ(endOf("nothing<|im_end|>"), "");
}
