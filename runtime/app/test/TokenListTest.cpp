//===- TokenListTest.cpp - parsing of token ids and biases ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/TokenList.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::app;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

TEST(TokenListTest, TakesAnySeparators) {
  EXPECT_THAT(*parseTokenList("5,6,7"), ElementsAre(5, 6, 7));
  EXPECT_THAT(*parseTokenList("\n5 6,\t,7\r\n"), ElementsAre(5, 6, 7));
  EXPECT_THAT(*parseTokenList("0 2147483647"), ElementsAre(0, 2147483647));
  EXPECT_THAT(*parseTokenList(""), IsEmpty());
}

TEST(TokenListTest, RefusesWhatIsNotAnId) {
  for (const char *text : {"x", "-1", "1.5", "0x10", "2147483648", "+1", "1;2"})
    EXPECT_FALSE(parseTokenList(text)) << text;
  EXPECT_EQ(parseTokenList("4 5 six").status().message(),
            "word 3 'six' is not a token id");
}

TEST(TokenListTest, ReadsBiases) {
  EXPECT_EQ(*parseLogitBias("5+1.5"), std::pair(5, 1.5));
  EXPECT_EQ(*parseLogitBias("5-1.5"), std::pair(5, -1.5));
  EXPECT_EQ(*parseLogitBias("5=-2"), std::pair(5, -2.0));
  EXPECT_EQ(*parseLogitBias("12-inf"), std::pair(12, -HUGE_VAL));
  for (const char *text : {"", "5", "+1", "5+", "5+x", "-5+1", "5+nan", "5++1"})
    EXPECT_FALSE(parseLogitBias(text)) << text;
}

} // namespace
