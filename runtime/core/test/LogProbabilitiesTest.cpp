//===- LogProbabilitiesTest.cpp - log-softmax of raw logits ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/LogProbabilities.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace sluice;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(LogProbabilitiesTest, AgreesWithTheDefinition) {
  std::vector<float> logits = {1.5f, -2, 0, 1.5f, -infinity};
  Expected<LogProbabilities> log = LogProbabilities::of(logits);
  ASSERT_TRUE(log);
  double sum = 2 * std::exp(1.5) + std::exp(-2.0) + 1;
  EXPECT_NEAR(log->logProbability(0), 1.5 - std::log(sum), 1e-14);
  EXPECT_NEAR(log->logProbability(1), -2 - std::log(sum), 1e-14);
  EXPECT_EQ(log->logProbability(4), -HUGE_VAL);
}

TEST(LogProbabilitiesTest, LargeLogitsDoNotOverflow) {
  std::vector<float> logits = {3e38f, 3e38f};
  EXPECT_NEAR(LogProbabilities::of(logits)->logProbability(1), 0, 1e25);
  logits = {1000, 1000};
  EXPECT_NEAR(LogProbabilities::of(logits)->logProbability(1), -std::log(2),
              1e-12);
}

TEST(LogProbabilitiesTest, TopIsOrderedAndTiesGoToTheLowestId) {
  std::vector<float> logits = {0, 2, 1, 2, -1};
  Expected<LogProbabilities> log = LogProbabilities::of(logits);
  std::vector<TokenLogProbability> top = log->top(3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].token, 1);
  EXPECT_EQ(top[1].token, 3);
  EXPECT_EQ(top[2].token, 2);
  EXPECT_EQ(top[2].logProbability, log->logProbability(2));
  EXPECT_EQ(log->top(0).size(), 0u);
  EXPECT_EQ(log->top(99).size(), 5u);
}

TEST(LogProbabilitiesTest, WhatIsNoDistributionIsAnError) {
  EXPECT_FALSE(LogProbabilities::of({}));
  std::vector<float> logits = {0, std::nanf("")};
  EXPECT_EQ(LogProbabilities::of(logits).status().message(),
            "log-probabilities: the logit of token 1 is nan");
  logits[1] = infinity;
  EXPECT_FALSE(LogProbabilities::of(logits));
  logits = {-infinity, -infinity};
  EXPECT_EQ(LogProbabilities::of(logits).status().message(),
            "log-probabilities: every logit is -infinity");
}

} // namespace
