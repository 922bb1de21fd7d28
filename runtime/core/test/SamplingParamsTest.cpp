//===- SamplingParamsTest.cpp - wrong sampling parameters are named -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/SamplingParams.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

using namespace sluice;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

std::string message(const std::function<void(SamplingParams &)> &change) {
  SamplingParams params;
  change(params);
  return params.validate(10).message();
}

TEST(SamplingParamsTest, DefaultsAndExtremesAreValid) {
  EXPECT_TRUE(SamplingParams().validate(1).ok());
  EXPECT_EQ(message([](SamplingParams &p) {
              p.temperature = 100;
              p.topK = -1;
              p.topP = 1e-9;
              p.minP = 1;
              p.repetitionPenalty = 1e-3;
              p.presencePenalty = -2;
              p.frequencyPenalty = 2;
              p.logitBias = {{0, -infinity}, {9, 100}};
            }),
            "");
}

TEST(SamplingParamsTest, EachParameterIsChecked) {
  EXPECT_EQ(message([](auto &p) { p.temperature = -0.5; }),
            "temperature is -0.5, not a number of at least 0");
  EXPECT_EQ(message([](auto &p) { p.temperature = nan; }),
            "temperature is nan, not a number of at least 0");
  EXPECT_EQ(message([](auto &p) { p.temperature = infinity; }),
            "temperature is inf, not a number of at least 0");
  EXPECT_EQ(message([](auto &p) { p.temperature = 1e-6; }),
            "temperature is 1e-06, neither 0 nor at least 1e-05");
  EXPECT_EQ(message([](auto &p) { p.topK = -2; }),
            "top_k is -2, neither -1, 0 (all) nor at least 1");
  EXPECT_EQ(message([](auto &p) { p.topP = 0; }), "top_p is 0, not in (0, 1]");
  EXPECT_EQ(message([](auto &p) { p.topP = 1.5; }),
            "top_p is 1.5, not in (0, 1]");
  EXPECT_EQ(message([](auto &p) { p.topP = nan; }),
            "top_p is nan, not in (0, 1]");
  EXPECT_EQ(message([](auto &p) { p.minP = -0.1; }),
            "min_p is -0.1, not in [0, 1]");
  EXPECT_EQ(message([](auto &p) { p.minP = nan; }),
            "min_p is nan, not in [0, 1]");
  EXPECT_EQ(message([](auto &p) { p.repetitionPenalty = 0; }),
            "repetition_penalty is 0, not in [0.001, 1000]");
  // Logits that are divided by so small a number are not finite any more.
  EXPECT_EQ(message([](auto &p) { p.repetitionPenalty = 5e-324; }),
            "repetition_penalty is 4.94066e-324, not in [0.001, 1000]");
  EXPECT_EQ(message([](auto &p) { p.repetitionPenalty = 1001; }),
            "repetition_penalty is 1001, not in [0.001, 1000]");
  EXPECT_EQ(message([](auto &p) { p.presencePenalty = 2.1; }),
            "presence_penalty is 2.1, not in [-2, 2]");
  EXPECT_EQ(message([](auto &p) { p.frequencyPenalty = nan; }),
            "frequency_penalty is nan, not in [-2, 2]");
  EXPECT_EQ(message([](auto &p) { p.logitBias = {{10, 1}}; }),
            "logit_bias: token 10 is not in the vocabulary of 10");
  EXPECT_EQ(message([](auto &p) { p.logitBias = {{-1, 1}}; }),
            "logit_bias: token -1 is not in the vocabulary of 10");
  EXPECT_EQ(message([](auto &p) { p.logitBias = {{3, nan}}; }),
            "logit_bias: the bias of token 3 is nan, not a number");
}

} // namespace
