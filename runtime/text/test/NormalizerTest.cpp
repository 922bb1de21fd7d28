//===- NormalizerTest.cpp - tests of normalizer steps ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/Normalizer.h"

#include <gmock/gmock.h>

using namespace sluice;
using namespace sluice::text;

using Kind = NormalizerStep::Kind;

namespace {

std::string normalize(const std::vector<NormalizerStep> &steps,
                      std::string text) {
  Expected<Normalizer> normalizer = Normalizer::create(steps);
  EXPECT_TRUE(normalizer.ok()) << normalizer.status().message();
  if (!normalizer)
    return {};
  Expected<std::string> out = normalizer->normalize(std::move(text));
  EXPECT_TRUE(out.ok());
  return out ? out.take() : std::string();
}

TEST(Normalizer, ComposesAndDecomposes) {
  EXPECT_EQ(normalize({{Kind::NFC}}, "e\u0301"), "\u00E9");
  EXPECT_EQ(normalize({{Kind::NFD}}, "\u00E9"), "e\u0301");
  EXPECT_EQ(normalize({{Kind::NFKC}}, "\uFB01\u00BD"), "fi1\u20442");
  EXPECT_EQ(normalize({{Kind::NFKD}}, "\uFF21\u00E9"), "Ae\u0301");
  EXPECT_EQ(normalize({{Kind::NFC}}, std::string("a\0b\u0301", 5)),
            std::string("a\0b\u0301", 5));
}

TEST(Normalizer, ChangesCharacters) {
  EXPECT_EQ(normalize({{Kind::Lowercase}}, "ÄẞΣİ"), "äßσi\u0307");
  EXPECT_EQ(normalize({{Kind::NFD}, {Kind::StripAccents}}, "àé"), "ae");
  NormalizerStep strip{Kind::Strip};
  strip.left = true;
  EXPECT_EQ(normalize({strip}, "\u3000 a "), "a ");
  strip.right = true;
  EXPECT_EQ(normalize({strip}, "\n a\u00A0"), "a");
  EXPECT_EQ(normalize({strip}, " \n"), "");
}

TEST(Normalizer, Replaces) {
  EXPECT_EQ(normalize({{Kind::Prepend, "", "▁"}}, "a"), "▁a");
  EXPECT_EQ(normalize({{Kind::Prepend, "", "▁"}}, ""), "");
  EXPECT_EQ(normalize({{Kind::ReplaceString, " ", "▁"}}, " a  b"), "▁a▁▁b");
  EXPECT_EQ(normalize({{Kind::ReplaceRegex, " {2,}", " "}}, "a   b c"),
            "a b c");
  EXPECT_EQ(normalize({{Kind::ByteLevel}}, " é"), "ĠÃ©");
}

TEST(Normalizer, RefusesBrokenSteps) {
  EXPECT_FALSE(Normalizer::create({{Kind::ReplaceString}}).ok());
  EXPECT_FALSE(Normalizer::create({{Kind::ReplaceRegex, "("}}).ok());
  EXPECT_FALSE(Normalizer::create({{Kind::Precompiled, "ab"}}).ok());
  EXPECT_FALSE(
      Normalizer::create({{Kind::Precompiled, std::string("\xF0\xFF\xFF\xFF"
                                                          "abcd")}})
          .ok());
}

TEST(CharacterMap, SurvivesAnyTable) {
  // Units that make every lookup leave the array, or end at its end.
  for (char fill : {'\0', '\1', '\x7F', '\xFF'}) {
    std::string bytes("\x10\0\0\0", 4);
    bytes += std::string(16, fill) + "pool";
    Expected<CharacterMap> map = CharacterMap::parse(bytes);
    ASSERT_TRUE(map.ok());
    EXPECT_FALSE(map->apply("abc\u00E9 \U0001F469\u200D\U0001F467").empty());
  }
}

} // namespace
