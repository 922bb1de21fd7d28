//===- RowCurveTest.cpp - tests of RowCurve.h -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/RowCurve.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <limits>
#include <random>

using namespace sluice;
using namespace sluice::cluster;

namespace {

RowCurve curveOf(std::vector<RowCurve::Point> points) {
  Expected<RowCurve> curve = RowCurve::create(std::move(points));
  EXPECT_TRUE(curve.ok()) << curve.status().message();
  return curve.take();
}

std::string error(std::vector<RowCurve::Point> points) {
  Expected<RowCurve> curve = RowCurve::create(std::move(points));
  EXPECT_FALSE(curve.ok());
  return curve.status().message();
}

TEST(RowCurveTest, IsExactAtItsPoints) {
  RowCurve curve = curveOf({{1, 10}, {2, 10}, {8, 22}, {32, 88}});
  EXPECT_EQ(curve.seconds(1), 10);
  EXPECT_EQ(curve.seconds(2), 10);
  EXPECT_EQ(curve.seconds(8), 22);
  EXPECT_EQ(curve.seconds(32), 88);
}

/// The value lies between two bounds: the line between two points, and a
/// neighbouring line, continued.
TEST(RowCurveTest, IsHalfWayBetweenItsBoundsElsewhere) {
  RowCurve curve = curveOf({{1, 10}, {2, 10}, {8, 22}, {32, 88}});
  EXPECT_DOUBLE_EQ(curve.seconds(3), (12 + 10) / 2.0);
  EXPECT_DOUBLE_EQ(curve.seconds(7), (20 + 22 - 66 / 24.0) / 2);
  // The continued line is above the line between the points.
  EXPECT_DOUBLE_EQ(curve.seconds(20), 55);
  // Before the first point the curve is level; after the last it goes through
  // the origin.
  curve = curveOf({{1, 10}, {4, 12}, {8, 24}});
  EXPECT_DOUBLE_EQ(curve.seconds(2), (10 + 2 / 3.0 + 10) / 2);
  EXPECT_DOUBLE_EQ(curve.seconds(6), 18);
}

/// The time of memory or of arithmetic, whichever is longer; the bend is not a
/// point of the curve.
TEST(RowCurveTest, IsOffByHalfOfWhatALineIsAtABend) {
  for (double bend = 4; bend <= 8; bend += 0.25) {
    auto taken = [&](int64_t rows) { return std::max(bend, double(rows)); };
    std::vector<RowCurve::Point> points;
    for (int64_t rows : {1, 2, 4, 8, 16})
      points.push_back({rows, taken(rows)});
    RowCurve curve = curveOf(points);
    for (int64_t rows = 1; rows <= 16; ++rows) {
      double line = rows < 4 || rows > 8
                        ? taken(rows)
                        : bend + double(rows - 4) / 4 * (8 - bend);
      EXPECT_NEAR(curve.seconds(rows), (line + taken(rows)) / 2, 1e-12)
          << bend << ", " << rows;
    }
  }
}

TEST(RowCurveTest, ARowTakesAsLongBeyondTheLastPoint) {
  RowCurve curve = curveOf({{1, 10}, {4, 12}});
  EXPECT_DOUBLE_EQ(curve.seconds(5), 15);
  EXPECT_DOUBLE_EQ(curve.seconds(400), 1200);
  EXPECT_DOUBLE_EQ(curveOf({{1, 10}}).seconds(3), 30);
}

/// Returns random valid points: each at least as long as the previous one, and
/// at most as long as its rows would take in steps of that; some are at these
/// bounds.
RowCurve randomCurve(std::mt19937_64 &random) {
  std::uniform_int_distribution<int64_t> steps(1, 20);
  std::uniform_real_distribution<double> share(-0.3, 1.3);
  std::vector<RowCurve::Point> points = {{1, 3}};
  for (int64_t more = random() % 8; more > 0; --more) {
    const RowCurve::Point before = points.back();
    int64_t rows = before.rows + steps(random);
    double max = before.seconds * double(rows) / double(before.rows);
    double part = std::clamp(share(random), 0.0, 1.0);
    points.push_back({rows, before.seconds + part * (max - before.seconds)});
  }
  return curveOf(points);
}

TEST(RowCurveTest, MoreRowsTakeLongerAndEachOfThemNoLonger) {
  constexpr double slack = 1 + 1e-12;
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    RowCurve curve = randomCurve(random);
    SCOPED_TRACE(testing::PrintToString(i));
    for (int64_t rows = 1; rows < 200; ++rows) {
      double now = curve.seconds(rows), next = curve.seconds(rows + 1);
      ASSERT_GE(next * slack, now) << rows;
      ASSERT_LE(next / double(rows + 1), now / double(rows) * slack) << rows;
    }
  }
}

std::vector<double> fitted(std::vector<RowCurve::Point> points) {
  Expected<RowCurve> curve = RowCurve::fit(points);
  EXPECT_TRUE(curve.ok()) << curve.status().message();
  std::vector<double> seconds;
  for (const RowCurve::Point &point : curve->points())
    seconds.push_back(point.seconds);
  return seconds;
}

TEST(RowCurveTest, NoiseIsMovedHalfOfTheWayByEachSide) {
  using testing::DoubleEq;
  using testing::ElementsAre;
  // A valid curve does not change.
  EXPECT_THAT(fitted({{1, 10}, {2, 10}, {4, 12}, {8, 24}}),
              ElementsAre(10, 10, 12, 24));
  // Shorter than a step of fewer rows.
  double middle = std::sqrt(10.1 * 10);
  EXPECT_THAT(fitted({{1, 10.1}, {2, 10}, {4, 20}}),
              ElementsAre(DoubleEq(middle), DoubleEq(middle), 20));
  // Longer than its rows in steps of fewer.
  EXPECT_THAT(fitted({{1, 10}, {2, 24.2}, {4, 30}}),
              ElementsAre(DoubleEq(11), DoubleEq(22), 30));
  // Longer than a step of fewer rows permits, and than one of more.
  EXPECT_THAT(fitted({{1, 10}, {2, 24.2}, {4, 20}}),
              ElementsAre(DoubleEq(11), DoubleEq(22), DoubleEq(22)));
}

/// No curve is nearer: if two points contradict each other by a factor, at
/// least one moves by its square root.
TEST(RowCurveTest, NoiseIsMovedByNoMoreThanItHasTo) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> noise(0.85, 1.15);
  for (int i = 0; i < 1000; ++i) {
    std::vector<RowCurve::Point> points = randomCurve(random).points();
    for (RowCurve::Point &point : points)
      point.seconds *= noise(random);
    double apart = 1;
    for (const RowCurve::Point &a : points)
      for (const RowCurve::Point &b : points)
        if (a.rows < b.rows)
          apart = std::max(
              {apart, a.seconds / b.seconds,
               b.seconds / a.seconds * double(a.rows) / double(b.rows)});
    std::vector<double> seconds = fitted(points);
    for (size_t k = 0; k < points.size(); ++k)
      EXPECT_LE(std::abs(std::log(seconds[k] / points[k].seconds)),
                std::log(apart) / 2 + 1e-12);
  }
}

TEST(RowCurveTest, NoiseMovesNothingByMoreThanItIs) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> noise(0.95, 1.05);
  for (int i = 0; i < 1000; ++i) {
    const RowCurve truth = randomCurve(random);
    std::vector<RowCurve::Point> points = truth.points();
    for (RowCurve::Point &point : points)
      point.seconds *= noise(random);
    std::vector<double> seconds = fitted(points);
    for (size_t k = 0; k < points.size(); ++k) {
      EXPECT_NEAR(seconds[k] / truth.points()[k].seconds, 1, 0.051);
      points[k].seconds = seconds[k];
    }
    curveOf(points);
  }
}

TEST(RowCurveTest, WhatIsMoreThanNoiseIsRefused) {
  auto error = [](std::vector<RowCurve::Point> points) {
    Expected<RowCurve> curve = RowCurve::fit(points);
    EXPECT_FALSE(curve.ok());
    return curve.status().message();
  };
  EXPECT_EQ(error({{1, 0.030}, {2, 0.016}}),
            "2 rows take 16 ms, less than 1: 30 ms");
  EXPECT_EQ(error({{1, 0.030}, {4, 0.210}}),
            "4 rows take 210 ms: in steps of 1 they would take 120 ms");
  // The error names points that contradict each other by more than the noise.
  EXPECT_EQ(error({{1, 0.030}, {2, 0.0299}, {4, 0.010}}),
            "4 rows take 10 ms, less than 1: 30 ms");
  EXPECT_EQ(error({{2, 1}}), "the first time must be for 1 row, and not for 2");
  EXPECT_EQ(error({{1, 1}, {4, 2}, {4, 2}}),
            "a time for 4 rows stands behind that for 4");
}

TEST(RowCurveTest, WhatNoMachineDoesIsRefused) {
  EXPECT_EQ(error({}), "0 times are not 1 to 64");
  EXPECT_EQ(error(std::vector<RowCurve::Point>(65, {1, 1})),
            "65 times are not 1 to 64");
  EXPECT_EQ(error({{2, 1}}), "the first time must be for 1 row, and not for 2");
  EXPECT_EQ(error({{0, 1}}), "the first time must be for 1 row, and not for 0");
  EXPECT_EQ(error({{1, 1}, {4, 2}, {4, 2}}),
            "a time for 4 rows stands behind that for 4");
  EXPECT_EQ(error({{1, 1}, {65537, 2}}), "65537 rows are more than 65536");
  EXPECT_EQ(error({{1, 0}}), "the time for 1 rows, 0 s, is not in (0, 10000]");
  EXPECT_EQ(error({{1, std::numeric_limits<double>::quiet_NaN()}}),
            "the time for 1 rows, nan s, is not in (0, 10000]");
  EXPECT_EQ(error({{1, 0.031}, {2, 0.03}}),
            "2 rows take 30 ms, less than 1: 31 ms");
  EXPECT_EQ(error({{1, 0.030}, {4, 0.130}}),
            "4 rows take 130 ms: in steps of 1 they would take 120 ms");
}

TEST(RowCurveTest, TheSlowerOfTwoIsSoAtThePointsOfBoth) {
  RowCurve a = curveOf({{1, 10}, {8, 17}});
  RowCurve b = curveOf({{1, 8}, {4, 20}, {8, 20}});
  EXPECT_EQ(RowCurve::slower(a, b), curveOf({{1, 10}, {4, 20}, {8, 20}}));
  EXPECT_EQ(RowCurve::slower(a, a), a);
}

} // namespace
