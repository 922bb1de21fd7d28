//===- PythonTextTest.cpp - tests of Python's string operations -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The expected values are those of CPython's str.
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/PythonText.h"

#include <cmath>
#include <gmock/gmock.h>

using namespace sluice::text::jinja;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

TEST(PythonText, Splits) {
  EXPECT_THAT(splitSpace(" a  b\u3000c ", -1, false),
              ElementsAre("a", "b", "c"));
  EXPECT_THAT(splitSpace(" a b c ", 1, false), ElementsAre("a", "b c "));
  EXPECT_THAT(splitSpace(" a b c ", 1, true), ElementsAre(" a b", "c"));
  EXPECT_THAT(splitSpace(" a ", 0, false), ElementsAre("a "));
  EXPECT_THAT(splitSpace(" \n", -1, true), IsEmpty());
  EXPECT_THAT(splitAt("a,b,", ",", -1, false), ElementsAre("a", "b", ""));
  EXPECT_THAT(splitAt("a,b,c", ",", 1, true), ElementsAre("a,b", "c"));
  EXPECT_THAT(splitAt("aaa", "aa", -1, true), ElementsAre("a", ""));
  EXPECT_THAT(splitAt("aaa", "aa", -1, false), ElementsAre("", "a"));
  EXPECT_THAT(splitLines("a\r\nb\n\nc\u2028"), ElementsAre("a", "b", "", "c"));
}

TEST(PythonText, Strips) {
  EXPECT_EQ(stripSpace("\u00a0 x\u2003\x1f"), "x");
  EXPECT_EQ(stripSpace(" \u3000"), "");
  EXPECT_EQ(stripCharacters("\u00e9x\u00e9", "\u00e9"), "x");
  // A byte that two characters share makes neither of them match.
  EXPECT_EQ(stripCharacters("\u00e8x", "\u00e9"), "\u00e8x");
  EXPECT_EQ(stripCharacters("aba", "a", {false, true}), "ab");
}

TEST(PythonText, Replaces) {
  EXPECT_EQ(replaceText("\u00e9a", "", "-", -1), "-\u00e9-a-");
  EXPECT_EQ(replaceText("\u00e9a", "", "-", 2), "-\u00e9-a");
  EXPECT_EQ(replaceText("aaaa", "aa", "b", 1), "baa");
  EXPECT_EQ(countOccurrences("aaaa", "aa", -1), 2u);
  EXPECT_EQ(countOccurrences("", "", -1), 1u);
}

TEST(PythonText, ReadsNumbers) {
  EXPECT_EQ(parsePythonInteger(" -1_0 "), __int128(-10));
  EXPECT_EQ(parsePythonInteger("18446744073709551615"), __int128(UINT64_MAX));
  for (std::string_view text :
       {"", "-", "1.0", "_1", "1_", "1__0", "0x1", "18446744073709551616",
        "99999999999999999999999999999999999999999999"})
    EXPECT_EQ(parsePythonInteger(text), std::nullopt) << text;
  EXPECT_EQ(parsePythonFloat("+1_0.5e1"), 105.0);
  EXPECT_EQ(parsePythonFloat("-.5"), -0.5);
  EXPECT_EQ(parsePythonFloat("1e999"), HUGE_VAL);
  EXPECT_EQ(parsePythonFloat("-Infinity"), -HUGE_VAL);
  EXPECT_EQ(parsePythonFloat("1e-999"), 0.0);
  for (std::string_view text : {"", "+", "+-1", "0x1", "1 2", "e5", "1._5"})
    EXPECT_EQ(parsePythonFloat(text), std::nullopt) << text;
}

TEST(PythonText, CountsCharacters) {
  EXPECT_EQ(codePointCount("a\u00e9\u6f22\U0001F600"), 4u);
  EXPECT_THAT(characterOffsets("a\u00e9\u6f22"), ElementsAre(0, 1, 3, 6));
}

} // namespace
