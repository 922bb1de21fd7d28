//===- Utf8Test.cpp - tests of UTF-8 and GPT-2's byte alphabet ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/Utf8.h"

#include "runtime/text/ByteAlphabet.h"

#include <gtest/gtest.h>

using namespace sluice::text;

namespace {

TEST(Utf8, ReplacesTheLongestStartOfACharacter) {
  // The cases of the Unicode standard, chapter 3, U+FFFD substitution.
  EXPECT_EQ(replaceInvalidUtf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA");
  EXPECT_EQ(replaceInvalidUtf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA");
  EXPECT_EQ(replaceInvalidUtf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA\uFFFD\uFFFDB");
  EXPECT_EQ(replaceInvalidUtf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFDA");
}

TEST(Utf8, KnowsWhatIsCutShort) {
  EXPECT_EQ(firstCharacter("\xF0\x9F\x98").state,
            Utf8Character::State::Incomplete);
  EXPECT_EQ(firstCharacter("\xF0\x9F\x98").length, 3u);
  EXPECT_EQ(firstCharacter("\xF0\x9F\x98\x80").codePoint, 0x1F600u);
  EXPECT_FALSE(isValidUtf8("a\xE3\x81"));
  EXPECT_TRUE(isValidUtf8(std::string_view("a\0b", 3)));
}

TEST(Utf8, WritesWhatItReads) {
  for (uint32_t code = 0; code < 0x110000; ++code) {
    if (code == 0xD800)
      code = 0xE000;
    std::string text;
    appendCodePoint(text, code);
    ASSERT_TRUE(isValidUtf8(text)) << code;
    size_t offset = 0;
    ASSERT_EQ(nextCodePoint(text, offset), code);
    ASSERT_EQ(offset, text.size());
    ASSERT_EQ(characterLength(text[0]), text.size());
  }
}

TEST(ByteAlphabet, SpellsEveryByteByAnotherCharacter) {
  EXPECT_EQ(byteSpelling(' '), "Ġ");
  EXPECT_EQ(byteSpelling('\n'), "Ċ");
  EXPECT_EQ(byteSpelling('a'), "a");
  std::string all;
  for (int byte = 0; byte < 256; ++byte)
    all.push_back(static_cast<char>(byte));
  std::string spelt = spellBytes(all), back;
  EXPECT_TRUE(isValidUtf8(spelt));
  appendSpelledBytes(back, spelt);
  EXPECT_EQ(back, all);
}

TEST(ByteAlphabet, LeavesTextThatSpellsNoBytes) {
  std::string out;
  appendSpelledBytes(out, "<a b>"); // a space is no letter of the alphabet
  EXPECT_EQ(out, "<a b>");
}

} // namespace
