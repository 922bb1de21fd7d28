//===- LengthDistributionTest.cpp - lengths of prompts and outputs --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/LengthDistribution.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace sluice;
using namespace sluice::bench;

namespace {

std::vector<int64_t> draw(const char *text, size_t count, uint64_t seed) {
  Expected<LengthDistribution> lengths = LengthDistribution::parse(text);
  EXPECT_TRUE(lengths) << lengths.status().message();
  std::vector<int64_t> drawn;
  for (size_t i = 0; i < count; ++i) {
    RandomStream random(seed, Purpose::PromptLength, i);
    drawn.push_back(lengths->draw(random));
  }
  return drawn;
}

/// From a second implementation, in Python.
TEST(LengthDistributionTest, GoldenValues) {
  using Lengths = std::vector<int64_t>;
  EXPECT_EQ(draw("17", 3, 3), (Lengths{17, 17, 17}));
  EXPECT_EQ(draw("choice:8,64,512", 8, 3),
            (Lengths{8, 512, 8, 512, 512, 8, 512, 64}));
  EXPECT_EQ(draw("normal:100:20", 6, 3), (Lengths{92, 109, 76, 130, 58, 62}));
  EXPECT_EQ(draw("lognormal:200:150", 6, 3),
            (Lengths{124, 217, 71, 440, 40, 45}));
}

struct Case {
  const char *text;
  double mean, deviation;
  int64_t low, high; // all draws are within
};

TEST(LengthDistributionTest, HaveTheirMoments) {
  const Case cases[] = {
      {"128", 128, 0, 128, 128},
      {"uniform:128:768", 448, 641 / std::sqrt(12.0), 128, 768},
      {"uniform:5:5", 5, 0, 5, 5},
      {"normal:300:50", 300, 50, 50, 550},
      {"normal:300:0", 300, 0, 300, 300},
      {"lognormal:300:100", 300, 100, 50, 1500},
      {"choice:10,20,20,30", 20, std::sqrt(50.0), 10, 30},
  };
  for (const Case &each : cases) {
    std::vector<int64_t> drawn = draw(each.text, 50'000, 1);
    double sum = 0, square = 0;
    for (int64_t length : drawn) {
      EXPECT_GE(length, each.low) << each.text;
      EXPECT_LE(length, each.high) << each.text;
      sum += double(length);
    }
    double mean = sum / double(drawn.size());
    for (int64_t length : drawn)
      square += (double(length) - mean) * (double(length) - mean);
    double deviation = std::sqrt(square / double(drawn.size()));
    EXPECT_NEAR(mean, each.mean, each.mean * 0.01) << each.text;
    EXPECT_NEAR(deviation, each.deviation, each.deviation * 0.02) << each.text;
  }
}

TEST(LengthDistributionTest, AreNeverBelowOne) {
  for (int64_t length : draw("normal:1:1000", 1000, 1)) {
    EXPECT_GE(length, 1);
    EXPECT_LE(length, maxLength);
  }
  for (int64_t length : draw("lognormal:1000:1048576", 1000, 1))
    EXPECT_LE(length, maxLength);
}

TEST(LengthDistributionTest, Refuses) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "'' is not a number from 1 to 1048576"},
      {"0", "'0' is not a number from 1 to 1048576"},
      {"-5", "'-5' is not a number"},
      {"1048577", "'1048577' is not a number"},
      {"99999999999999999999", "is not a number"},
      {"12x", "'12x' is not a number"},
      {" 12", "' 12' is not a number"},
      {"1.5", "'1.5' is not a number"},
      {"equal:1:2", "it is none of N, uniform:LOW:HIGH, normal:MEAN:SD, "
                    "lognormal:MEAN:SD, choice:A,B,C"},
      {":1:2", "it is none of N"},
      {"uniform:", "'' is not a number"},
      {"uniform:5", "it needs a lowest and a highest length"},
      {"uniform:1:2:3", "it needs a lowest and a highest length"},
      {"uniform:9:5", "the lowest length is above the highest"},
      {"uniform:0:5", "'0' is not a number"},
      {"normal:5", "the standard deviation '' is not a number"},
      {"normal:5:-1", "the standard deviation '-1' is not a number"},
      {"normal:0:1", "the mean '0' is not a number"},
      {"normal:nan:1", "the mean 'nan' is not a number"},
      {"normal:5:inf", "the standard deviation 'inf' is not a number"},
      {"normal:5:1:2", "the standard deviation '1:2' is not a number"},
      {"lognormal:1e9:1", "the mean '1e9' is not a number"},
      {"choice:", "'' is not a number"},
      {"choice:1,,2", "'' is not a number"},
      {"choice:1,2,", "'' is not a number"},
  };
  for (const auto &[text, why] : cases) {
    Expected<LengthDistribution> lengths = LengthDistribution::parse(text);
    ASSERT_FALSE(lengths) << text;
    const std::string &message = lengths.status().message();
    EXPECT_NE(message.find("' is not a length: "), std::string::npos);
    EXPECT_NE(message.find(why), std::string::npos) << message;
  }
  std::string many = "choice:1";
  for (int i = 0; i < 4096; ++i)
    many += ",1";
  EXPECT_FALSE(LengthDistribution::parse(many));
}

TEST(LengthDistributionTest, KeepTheirSpelling) {
  EXPECT_EQ(LengthDistribution::parse("uniform:1:2")->spelling(),
            "uniform:1:2");
  EXPECT_EQ(LengthDistribution(64).spelling(), "64");
}

} // namespace
