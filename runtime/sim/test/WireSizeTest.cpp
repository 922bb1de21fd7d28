//===- WireSizeTest.cpp - sizes are those of the codec --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/WireSize.h"

#include "runtime/comm/Frame.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::sim;

namespace {

/// Returns the size of what the real codec writes.
int64_t encodedBytes(const StepFrame &frame, int64_t width) {
  comm::FrameCodec codec(1, {});
  std::vector<uint8_t> data(frame.rows.size() * size_t(width) * 4);
  comm::ActivationRows activations;
  activations.format = ActivationFormat::F32;
  activations.width = width;
  activations.data = data;
  comm::Bytes bytes;
  codec.encodeStep(frame, activations, bytes);
  return static_cast<int64_t>(bytes.size());
}

StepFrame frameOf(int rows) {
  StepFrame frame;
  frame.rows.resize(rows);
  frame.marks.resize(1);
  frame.timings.resize(3);
  return frame;
}

TEST(WireSizeTest, StepsAreAsLongAsTheCodecMakesThem) {
  for (int rows : {1, 2, 7, 100}) {
    StepFrame frame = frameOf(rows);
    EXPECT_EQ(wireBytes(frame, 64 * 4), encodedBytes(frame, 64)) << rows;
    EXPECT_EQ(wireBytes(frame, 0), encodedBytes(frame, 0)) << rows;
  }
  StepFrame frame = frameOf(2);
  frame.opens.resize(1);
  frame.opens[0].sampling.logitBias = {{3, 0.5}, {5, -1}};
  frame.closes = {0, 1};
  EXPECT_EQ(wireBytes(frame, 16), encodedBytes(frame, 4));
  frame.opens[0].prefixPages = {4, 2};
  frame.opens[0].prefix.resize(64);
  frame.opens[0].scored.resize(70);
  frame.unpins = {1, 2, 3};
  frame.pins.resize(2);
  EXPECT_EQ(wireBytes(frame, 16), encodedBytes(frame, 4));
  frame.rows.clear();
  EXPECT_EQ(wireBytes(frame, 16), encodedBytes(frame, 4));
  for (std::vector<int32_t> unpins : {std::vector{7}, std::vector<int32_t>{}}) {
    StepFrame orders;
    orders.unpins = unpins;
    orders.pins.resize(1 - unpins.size());
    EXPECT_EQ(wireBytes(orders, 16), encodedBytes(orders, 4));
  }
}

TEST(WireSizeTest, ATombstoneIsAFewBytes) {
  StepFrame frame;
  frame.marks.resize(1);
  frame.timings.resize(5);
  EXPECT_EQ(wireBytes(frame, 4096), encodedBytes(frame, 1024));
  EXPECT_LE(wireBytes(frame, 4096), 64);
}

TEST(WireSizeTest, ResultsAndCancelsLikewise) {
  comm::FrameCodec codec(1, {});
  comm::Bytes bytes;
  ResultFrame results;
  results.results.resize(3);
  results.results[1].report.resize(2);
  results.timings.resize(4);
  codec.encodeResults(results, bytes);
  EXPECT_EQ(wireBytes(results), static_cast<int64_t>(bytes.size()));
  codec.encodeEpochs({Time(5), {EpochMark{}}}, bytes);
  EXPECT_EQ(wireBytes(EpochMark{}), static_cast<int64_t>(bytes.size()));
}

} // namespace
