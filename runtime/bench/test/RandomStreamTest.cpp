//===- RandomStreamTest.cpp - portable random numbers ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/RandomStream.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

using namespace sluice::bench;
using testing::ElementsAre;

namespace {

TEST(RandomStreamTest, LogarithmAndExponentialAreThose) {
  for (double x : {1e-300, 1e-17, 0.1, 0.4999, 0.5, 0.7071, 0.7072, 0.999, 1.0,
                   1.001, 2.0, 2.718281828, 1e5, 1e300}) {
    double expected = std::log(x);
    EXPECT_NEAR(portableLog(x), expected, std::abs(expected) * 4e-16) << x;
  }
  for (double x :
       {-700.0, -100.5, -1.0, -0.34, -1e-9, 0.0, 0.35, 1.0, 33.3, 700.0}) {
    double expected = std::exp(x);
    EXPECT_NEAR(portableExp(x), expected, expected * 1e-13) << x;
  }
  EXPECT_EQ(portableLog(1), 0);
  EXPECT_EQ(portableExp(0), 1);
}

/// From a second implementation, of Philox4x32-10 in Python.
TEST(RandomStreamTest, GoldenValues) {
  RandomStream words(42, Purpose::ArrivalGap, 7);
  EXPECT_EQ(words.next32(), 0xffad12c7u);
  EXPECT_EQ(words.next32(), 0xa7f156b9u);
  EXPECT_EQ(words.next64(), 0xf7ca95849d2facd9u);
  EXPECT_EQ(words.next64(), 0x0655bf9deb759a92u); // of the second block
  RandomStream units(42, Purpose::ArrivalGap, 7);
  EXPECT_EQ(units.unit(), 0.9987346398774595);
  EXPECT_EQ(units.unit(), 0.9679349373593015);
  RandomStream whole(42, Purpose::PromptLength, 0);
  for (int64_t expected : {518, 407, 475, 606, 425, 763, 509, 310})
    EXPECT_EQ(whole.whole(128, 768), expected);
}

/// From the same implementation, with Python's logarithm, which may round
/// differently.
TEST(RandomStreamTest, GoldenValuesOfDistributions) {
  using Draw = std::function<double(RandomStream &)>;
  const std::pair<Draw, std::vector<double>> cases[] = {
      {[](RandomStream &r) { return r.normal(); },
       {-1.1546271087806832, 0.43685606905364527, -0.9319095487624106}},
      {[](RandomStream &r) { return r.exponential(); },
       {0.24518241622806064, 1.0700224256301993, 2.21791074807569}},
      {[](RandomStream &r) { return r.gamma(2.5); },
       {0.8727579013527154, 1.5036706345385191, 1.3587453578228141}},
      {[](RandomStream &r) { return r.gamma(0.25); },
       {0.06380419714399334, 0.001010211314781691, 0.00011271240367766766}}};
  for (const auto &[draw, values] : cases) {
    RandomStream random(42, Purpose::ArrivalGap, 1);
    for (double expected : values)
      EXPECT_NEAR(draw(random), expected, std::abs(expected) * 1e-13);
  }
}

/// The mean, variance and skewness of many draws.
struct Moments {
  double mean = 0, variance = 0, skewness = 0;
};

Moments momentsOf(const std::function<double(RandomStream &)> &draw) {
  constexpr int count = 200'000;
  std::vector<double> values;
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    RandomStream random(1, Purpose::ArrivalGap, static_cast<uint64_t>(i));
    values.push_back(draw(random));
    sum += values.back();
  }
  Moments moments;
  moments.mean = sum / count;
  double square = 0, cube = 0;
  for (double value : values) {
    double off = value - moments.mean;
    square += off * off;
    cube += off * off * off;
  }
  moments.variance = square / count;
  moments.skewness = cube / count / std::pow(moments.variance, 1.5);
  return moments;
}

TEST(RandomStreamTest, HaveTheirMoments) {
  Moments unit = momentsOf([](RandomStream &r) { return r.unit(); });
  EXPECT_NEAR(unit.mean, 0.5, 0.003);
  EXPECT_NEAR(unit.variance, 1.0 / 12, 0.001);
  Moments normal = momentsOf([](RandomStream &r) { return r.normal(); });
  EXPECT_NEAR(normal.mean, 0, 0.01);
  EXPECT_NEAR(normal.variance, 1, 0.02);
  EXPECT_NEAR(normal.skewness, 0, 0.03);
  Moments gaps = momentsOf([](RandomStream &r) { return r.exponential(); });
  EXPECT_NEAR(gaps.mean, 1, 0.01);
  EXPECT_NEAR(gaps.variance, 1, 0.03);
  EXPECT_NEAR(gaps.skewness, 2, 0.1);
  for (double shape : {0.25, 0.5, 1.0, 4.0, 100.0}) {
    Moments gamma =
        momentsOf([shape](RandomStream &r) { return r.gamma(shape); });
    EXPECT_NEAR(gamma.mean, shape, 0.015 * shape + 0.003) << shape;
    EXPECT_NEAR(gamma.variance, shape, 0.04 * shape) << shape;
    EXPECT_NEAR(gamma.skewness, 2 / std::sqrt(shape), 0.15) << shape;
  }
}

TEST(RandomStreamTest, WholeNumbersReachBothEnds) {
  RandomStream random(3, Purpose::OutputLength, 0);
  int counts[6] = {};
  for (int i = 0; i < 60'000; ++i) {
    int64_t value = random.whole(-2, 3);
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 3);
    ++counts[value + 2];
  }
  for (int count : counts)
    EXPECT_NEAR(count, 10'000, 400);
  EXPECT_EQ(random.whole(5, 5), 5);
}

TEST(RandomStreamTest, StreamsDiffer) {
  auto first = [](uint64_t seed, Purpose purpose, uint64_t index) {
    return RandomStream(seed, purpose, index).next64();
  };
  uint64_t one = first(1, Purpose::ArrivalGap, 1);
  EXPECT_EQ(one, first(1, Purpose::ArrivalGap, 1));
  EXPECT_NE(one, first(2, Purpose::ArrivalGap, 1));
  EXPECT_NE(one, first(1 + (uint64_t{1} << 32), Purpose::ArrivalGap, 1));
  EXPECT_NE(one, first(1, Purpose::PromptLength, 1));
  EXPECT_NE(one, first(1, Purpose::ArrivalGap, 2));
  EXPECT_NE(one, first(1, Purpose::ArrivalGap, 1 + (uint64_t{1} << 32)));
}

} // namespace
