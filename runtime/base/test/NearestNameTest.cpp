//===- NearestNameTest.cpp - suggestions for misspelt words ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/NearestName.h"

#include <gtest/gtest.h>
#include <vector>

using namespace sluice;

namespace {

const std::vector<std::string> names = {"port",        "host",   "top-k",
                                        "temperature", "prompt", "prompt-form",
                                        "t",           "seed"};

TEST(NearestNameTest, FewChangesAreAMisspelling) {
  EXPECT_EQ(nearestName("prot", names), "port");
  EXPECT_EQ(nearestName("top_k", names), "top-k");
  EXPECT_EQ(nearestName("promt", names), "prompt");
  EXPECT_EQ(nearestName("prompts", names), "prompt");
  EXPECT_EQ(nearestName("temperatur", names), "temperature");
  EXPECT_EQ(nearestName("port", names), "port");
}

TEST(NearestNameTest, APrefixIsNear) {
  EXPECT_EQ(nearestName("temp", names), "temperature");
  EXPECT_EQ(nearestName("prompt-", names), "prompt");
  EXPECT_EQ(nearestName("prompt-f", names), "prompt-form");
  EXPECT_EQ(nearestName("te", names), "");
}

TEST(NearestNameTest, OtherWordsAreNot) {
  EXPECT_EQ(nearestName("nope", names), "");
  EXPECT_EQ(nearestName("x", names), "");
  EXPECT_EQ(nearestName("", names), "");
  EXPECT_EQ(nearestName(std::string(1 << 20, 'p'), names), "");
  EXPECT_EQ(nearestName("port", {}), "");
}

} // namespace
