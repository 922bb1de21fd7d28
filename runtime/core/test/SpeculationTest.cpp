//===- SpeculationTest.cpp - the policy's decisions and learning ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/Speculation.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace sluice;

namespace {

Time millis(double count) { return Time(std::llround(count * 1e6)); }

StepTimes table(const std::function<double(int64_t)> &of) {
  std::array<Time, StepTimes::rowCounts.size()> times;
  for (size_t i = 0; i < times.size(); ++i)
    times[i] = millis(of(StepTimes::rowCounts[i]));
  return StepTimes(times);
}

/// A policy for eight stages.
SpeculationPolicy policyOf(const std::function<double(int64_t)> &step,
                           double cancelLatency = 1,
                           SpeculationOptions options = {}) {
  return SpeculationPolicy(options, {table(step), millis(8 * step(1)),
                                     millis(cancelLatency),
                                     table([](int64_t) { return 5; })});
}

double steep(int64_t rows) { return 60 + 36.0 * static_cast<double>(rows - 1); }
double flat(int64_t) { return 60; }

//===----------------------------------------------------------------------===//
// StepTimes
//===----------------------------------------------------------------------===//

TEST(StepTimesTest, InterpolatesAndExtrapolates) {
  StepTimes times =
      table([](int64_t rows) { return 10 + static_cast<double>(rows); });
  for (int64_t rows : {1, 2, 5, 7, 14, 20, 64, 100, 512})
    EXPECT_EQ(times.get(rows), millis(10 + static_cast<double>(rows)));
}

TEST(StepTimesTest, NeverFallsWithMoreRows) {
  StepTimes times = table([](int64_t rows) { return rows == 4 ? 5 : 9; });
  for (int64_t rows = 1; rows < 80; ++rows)
    EXPECT_EQ(times.get(rows), millis(9));
}

TEST(StepTimesTest, TheFirstMeasurementReplacesAndRescales) {
  StepTimes times =
      table([](int64_t rows) { return 10 * static_cast<double>(rows); });
  times.measure(2, millis(60));
  EXPECT_EQ(times.get(2), millis(60));
  EXPECT_EQ(times.get(1), millis(30));
  EXPECT_EQ(times.get(8), millis(240));
  // A time that was measured itself is no longer scaled by others.
  times.measure(8, millis(80));
  EXPECT_EQ(times.get(2), millis(60));
  EXPECT_EQ(times.get(16), millis(160));
  // Later measurements are averaged in.
  times.measure(2, millis(68));
  EXPECT_EQ(times.get(2), millis(61));
}

TEST(StepTimesTest, MeasuresBetweenKeptCounts) {
  StepTimes times = table(flat);
  times.measure(5, millis(120));
  EXPECT_EQ(times.get(5), millis(120));
  times = table(flat);
  times.measure(512, millis(600));
  EXPECT_EQ(times.get(512), millis(600));
  times.measure(0, millis(1));
  times.measure(1, millis(0));
  EXPECT_EQ(times.get(1), millis(600));
}

TEST(StepTimesTest, StartsWithoutPredictions) {
  StepTimes times;
  EXPECT_EQ(times.get(3), millis(0));
  times.measure(1, millis(7));
  EXPECT_EQ(times.get(1), millis(7));
  EXPECT_EQ(times.get(64), millis(7));
}

//===----------------------------------------------------------------------===//
// Calibration
//===----------------------------------------------------------------------===//

TEST(CalibrationTest, BelievesTheDraftAtFirstAndWhatItSawLater) {
  Calibration calibration;
  EXPECT_FLOAT_EQ(static_cast<float>(calibration.chance(0.8f)), 0.8f);
  for (int i = 0; i < 300; ++i)
    calibration.observe(0.8f, i % 4 == 0);
  EXPECT_NEAR(calibration.chance(0.8f), 0.25, 0.02);
  EXPECT_FLOAT_EQ(static_cast<float>(calibration.chance(0.1f)), 0.1f);
}

TEST(CalibrationTest, NoticesThatGuessesComeTrueAgain) {
  Calibration calibration;
  for (int i = 0; i < 5000; ++i)
    calibration.observe(0.8f, false);
  EXPECT_LT(calibration.chance(0.8f), 0.005);
  for (int i = 0; i < 32; ++i)
    calibration.observe(0.8f, true);
  EXPECT_GT(calibration.chance(0.8f), 0.05);
  for (int i = 0; i < 1000; ++i)
    calibration.observe(0.8f, true);
  EXPECT_GT(calibration.chance(0.8f), 0.85);
}

TEST(CalibrationTest, ForgetsConfidencesThatAreNotSeen) {
  Calibration calibration;
  for (int i = 0; i < 100; ++i)
    calibration.observe(0.3f, false);
  double before = calibration.chance(0.3f);
  for (int i = 0; i < 40000; ++i)
    calibration.observe(0.9f, true);
  EXPECT_LT(before, 0.01);
  EXPECT_GT(calibration.chance(0.3f), 0.29);
}

TEST(CalibrationTest, TakesAnyConfidence) {
  Calibration calibration;
  for (float confidence : {-1.0f, 0.0f, 1.0f, 7.0f}) {
    calibration.observe(confidence, true);
    EXPECT_GE(calibration.chance(confidence), 0);
    EXPECT_LE(calibration.chance(confidence), 1);
  }
}

//===----------------------------------------------------------------------===//
// SpeculationPolicy
//===----------------------------------------------------------------------===//

TEST(SpeculationPolicyTest, LimitsComeFirst) {
  SpeculationPolicy policy = policyOf(flat, 1, {.depth = 4, .nodes = 8});
  EXPECT_EQ(policy.judge(1, 5, {}, 0), Verdict::DepthLimit);
  EXPECT_EQ(policy.judge(1, 4, {}, 8), Verdict::NodeLimit);
  EXPECT_EQ(policy.judge(1, 4, {}, 7), Verdict::Sent);
}

TEST(SpeculationPolicyTest, TheFloorIsWhatACancelHoldsUp) {
  EXPECT_DOUBLE_EQ(policyOf(flat, 1).floor(), 0.005);
  SpeculationPolicy slow = policyOf(flat, 120);
  EXPECT_DOUBLE_EQ(slow.floor(), 0.2);
  EXPECT_EQ(slow.judge(0.19, 1, {}, 0), Verdict::TooUnlikely);
  EXPECT_EQ(slow.judge(0.21, 1, {}, 0), Verdict::Sent);
}

TEST(SpeculationPolicyTest, FreeRowsFillTheSlot) {
  SpeculationPolicy policy = policyOf(flat);
  for (int64_t rows = 1; rows < 100; ++rows)
    EXPECT_EQ(
        policy.judge(0.01, 3, {.rows = rows, .weight = 1, .widest = 1}, rows),
        Verdict::Sent);
}

TEST(SpeculationPolicyTest, DearRowsHaveSlotsToThemselves) {
  SpeculationPolicy policy = policyOf(steep);
  SlotLoad one = {.rows = 1, .weight = 1, .widest = 1, .underWay = 3};
  EXPECT_EQ(policy.judge(0.7, 2, one, 3), Verdict::WaitsForSlot);
  // A wide slot before it, such as a prompt's, hides the cost of the row.
  one.widest = 8;
  EXPECT_EQ(policy.judge(0.7, 2, one, 3), Verdict::Sent);
  EXPECT_EQ(policy.judge(0.5, 2, one, 3), Verdict::WaitsForSlot);
}

TEST(SpeculationPolicyTest, LongRunsAreWorthWiderSlots) {
  auto step = [](int64_t rows) {
    return 60 + 16.0 * static_cast<double>(rows - 1);
  };
  SpeculationPolicy policy = policyOf(step);
  SlotLoad one = {.rows = 1, .weight = 1, .widest = 1, .underWay = 3};
  for (int i = 0; i < 1000; ++i)
    policy.observeLevel(i % 2);
  EXPECT_EQ(policy.judge(0.9, 2, one, 3), Verdict::WaitsForSlot);
  for (int i = 0; i < 1000; ++i)
    policy.observeLevel(i % 20);
  EXPECT_EQ(policy.judge(0.9, 2, one, 3), Verdict::Sent);
}

TEST(SpeculationPolicyTest, ResultsBoundTheSlotsUnderWay) {
  SpeculationPolicy policy = policyOf(flat);
  // A round trip is 8 steps.
  EXPECT_EQ(policy.judge(0.9, 8, {.underWay = 7}, 7), Verdict::Sent);
  EXPECT_EQ(policy.judge(0.9, 9, {.underWay = 8}, 8), Verdict::WaitsForSlot);
  // A little more than 8 steps: without a ninth slot, less than a slot is
  // empty.
  policy.measureRoundTrip(millis(8.05 * 60));
  EXPECT_EQ(policy.judge(0.9, 9, {.underWay = 8}, 8), Verdict::WaitsForSlot);
  policy.measureRoundTrip(millis(20 * 60));
  EXPECT_EQ(policy.judge(0.9, 9, {.underWay = 8}, 8), Verdict::Sent);
}

TEST(SpeculationPolicyTest, TheSlowestStageIsMeasured) {
  SpeculationPolicy policy = policyOf(flat);
  std::vector<StageTiming> timings = {
      {.rows = 1, .departed = 0, .busyNanos = millis(40).count()},
      {.rows = 2, .departed = 0, .busyNanos = millis(90).count()},
      {.rows = 4, .departed = 3, .busyNanos = millis(999).count()}};
  policy.measureStages(timings);
  EXPECT_EQ(policy.slot(1), millis(90));
  EXPECT_EQ(policy.slot(4), millis(90));
  policy.measureStages({});
  policy.measureRoundTrip(millis(500));
  policy.measureRoundTrip(millis(580));
  EXPECT_EQ(policy.times().roundTrip, millis(510));
  policy.measureDraft(1, millis(12));
  EXPECT_EQ(policy.times().draft.get(1), millis(12));
}

TEST(SpeculationPolicyTest, ProbesNowAndThen) {
  SpeculationPolicy policy = policyOf(flat);
  int probes = 0;
  for (int i = 0; i < 320; ++i)
    probes += policy.probe(false);
  EXPECT_EQ(probes, 10);
  for (int i = 0; i < 100; ++i)
    EXPECT_FALSE(policy.probe(i % 8 == 0));
}

TEST(SpeculationPolicyTest, TheDraftLooksAtWhatIsLikely) {
  SpeculationPolicy policy = policyOf(flat);
  EXPECT_TRUE(policy.worthDrafting(0.006, 0.006, 0));
  EXPECT_FALSE(policy.worthDrafting(0.004, 0.004, 0));
  EXPECT_TRUE(policy.worthDrafting(0.25, 0.9, 1));
  EXPECT_FALSE(policy.worthDrafting(0.2, 0.9, 1));
}

TEST(SpeculationPolicyTest, VerdictsHaveNames) {
  EXPECT_EQ(verdictName(Verdict::Sent), "sent");
  EXPECT_EQ(verdictName(Verdict::WaitsForSlot), "waits for a slot");
  EXPECT_EQ(verdictName(Verdict::TooUnlikely), "too unlikely");
  EXPECT_EQ(verdictName(Verdict::DepthLimit), "depth limit");
  EXPECT_EQ(verdictName(Verdict::NodeLimit), "node limit");
  EXPECT_EQ(verdictName(Verdict::Probe), "probe");
}

} // namespace
