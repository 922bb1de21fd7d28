//===- FrameTest.cpp - frames are decoded as they were encoded ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/test/FrameMaker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::comm::test;
using testing::HasSubstr;

namespace {

TEST(Frame, StepsComeBackAsTheyWere) {
  StepFrame decoded; // reused for each frame, as in a stage
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Maker maker(seed);
    auto format = static_cast<ActivationFormat>(seed % 3);
    int64_t width = seed % 5 == 0 ? 0 : maker.between(1, 33);
    FrameLimits limits = limitsOf(width);
    limits.format = format;
    FrameCodec codec(plan, limits);
    StepFrame frame = maker.step(maker.upTo(40));
    auto rows = int64_t(frame.rows.size());
    Bytes data = maker.data(size_t(rows * width * activationBytes(format)));
    Bytes bytes = encoded(codec, frame, {format, width, data});

    ActivationRows activations;
    Status status = codec.decodeStep(bytes, decoded, activations);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(encoded(codec, decoded, activations), bytes);
    EXPECT_EQ(decoded.step, frame.step);
    EXPECT_EQ(decoded.launched, frame.launched);
    EXPECT_EQ(decoded.unpins, frame.unpins);
    ASSERT_EQ(decoded.rows.size(), frame.rows.size());
    for (size_t i = 0; i < frame.rows.size(); ++i) {
      EXPECT_EQ(decoded.rows[i].node, frame.rows[i].node);
      EXPECT_EQ(decoded.rows[i].certain, frame.rows[i].certain);
      EXPECT_EQ(decoded.rows[i].wantsOutput, frame.rows[i].wantsOutput);
    }
    ASSERT_EQ(decoded.opens.size(), frame.opens.size());
    for (size_t i = 0; i < frame.opens.size(); ++i) {
      EXPECT_EQ(decoded.opens[i].sampling.seed, frame.opens[i].sampling.seed);
      EXPECT_EQ(decoded.opens[i].sampling.logitBias,
                frame.opens[i].sampling.logitBias);
      EXPECT_EQ(decoded.opens[i].knownTokens, frame.opens[i].knownTokens);
      EXPECT_EQ(decoded.opens[i].grammar, frame.opens[i].grammar);
      EXPECT_EQ(decoded.opens[i].tenant, frame.opens[i].tenant);
      EXPECT_EQ(decoded.opens[i].prefixPages, frame.opens[i].prefixPages);
      EXPECT_EQ(decoded.opens[i].prefix, frame.opens[i].prefix);
      EXPECT_EQ(decoded.opens[i].scored, frame.opens[i].scored);
    }
    ASSERT_EQ(decoded.pins.size(), frame.pins.size());
    for (size_t i = 0; i < frame.pins.size(); ++i) {
      EXPECT_EQ(decoded.pins[i].request, frame.pins[i].request);
      EXPECT_EQ(decoded.pins[i].node, frame.pins[i].node);
      EXPECT_EQ(decoded.pins[i].index, frame.pins[i].index);
      EXPECT_EQ(decoded.pins[i].page, frame.pins[i].page);
    }
    if (data.empty())
      continue;
    EXPECT_EQ(activations.format, format);
    EXPECT_EQ(activations.width, width);
    EXPECT_TRUE(std::equal(activations.data.begin(), activations.data.end(),
                           data.begin(), data.end()));
    EXPECT_EQ((activations.data.data() - bytes.data()) % 16, 0);
    EXPECT_EQ(activations.row(1) - activations.row(0),
              width * activationBytes(format));
  }
}

TEST(Frame, ResultsComeBackAsTheyWere) {
  FrameCodec codec(plan, limitsOf(0));
  ResultFrame results;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Maker maker(seed);
    Bytes bytes, again;
    ResultFrame made = maker.results();
    codec.encodeResults(made, bytes);
    Status status = codec.decodeResults(bytes, results);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(results.step, made.step);
    EXPECT_EQ(results.launched, made.launched);
    codec.encodeResults(results, again);
    EXPECT_EQ(again, bytes);
  }
}

TEST(Frame, ControlComesBackAsItWas) {
  FrameCodec codec(plan, limitsOf(0));
  Bytes bytes;
  EpochFrame epochs{Time(123456789), {{3, 9, 77, false}, {4, 1, -1, true}}};
  codec.encodeEpochs(epochs, bytes);
  EXPECT_LE(bytes.size(), 96u);
  EpochFrame decoded;
  ASSERT_TRUE(codec.decodeEpochs(bytes, decoded).ok());
  EXPECT_EQ(decoded.decided, epochs.decided);
  ASSERT_EQ(decoded.marks.size(), 2u);
  EXPECT_EQ(decoded.marks[0].request, 3);
  EXPECT_EQ(decoded.marks[0].epoch, 9);
  EXPECT_EQ(decoded.marks[0].confirmed, 77);
  EXPECT_FALSE(decoded.marks[0].ended);
  EXPECT_EQ(decoded.marks[1].confirmed, noNode);
  EXPECT_TRUE(decoded.marks[1].ended);

  codec.encodeError(3, "out of memory", bytes);
  ErrorFrame error;
  ASSERT_TRUE(codec.decodeError(bytes, error).ok());
  EXPECT_EQ(error.rank, 3);
  EXPECT_EQ(error.text, "out of memory");
  codec.encodeError(3, std::string(5000, 'x'), bytes);
  ASSERT_TRUE(codec.decodeError(bytes, error).ok());
  EXPECT_EQ(error.text, std::string(1000, 'x'));

  std::string text;
  codec.encodeReport(R"({"steps": 4})", bytes);
  ASSERT_TRUE(codec.decodeReport(bytes, text).ok());
  EXPECT_EQ(text, R"({"steps": 4})");
  codec.encodeReport(std::string(1001, 'x'), bytes);
  EXPECT_THAT(codec.decodeReport(bytes, text).message(),
              HasSubstr("a text of 1001 bytes, the limit is 1000"));

  codec.encodeShutdown(bytes);
  Expected<FrameHeader> header = codec.readHeader(bytes);
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->kind, FrameKind::Shutdown);
}

TEST(Frame, TombstonesAreSmall) {
  FrameCodec codec(plan, limitsOf(64));
  StepFrame frame = Maker(1).step(0);
  frame.unpins.clear();
  frame.opens.clear();
  frame.pins.clear();
  frame.closes.clear();
  ASSERT_TRUE(frame.isTombstone());
  Bytes bytes = encoded(codec, frame);
  EXPECT_LE(bytes.size(), 64u);
  StepFrame decoded = Maker(2).step(5);
  ActivationRows activations;
  ASSERT_TRUE(codec.decodeStep(bytes, decoded, activations).ok());
  EXPECT_TRUE(decoded.isTombstone());
  EXPECT_EQ(decoded.step, frame.step);
  EXPECT_EQ(decoded.launched, frame.launched);
  EXPECT_TRUE(activations.data.empty());
}

/// A frame without rows that has orders is no tombstone.
TEST(Frame, OrdersAreNoTombstones) {
  FrameCodec codec(plan, limitsOf(64));
  StepFrame decoded;
  ActivationRows activations;
  StepFrame frame;
  frame.unpins = {7};
  Status status = codec.decodeStep(encoded(codec, frame), decoded, activations);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(decoded.unpins, frame.unpins);
  EXPECT_FALSE(decoded.isTombstone());
  frame = {};
  frame.pins = {{1, 2, 3, 4}};
  status = codec.decodeStep(encoded(codec, frame), decoded, activations);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(decoded.unpins.empty());
  ASSERT_EQ(decoded.pins.size(), 1u);
  EXPECT_EQ(decoded.pins[0].page, 4);
}

TEST(Frame, DeliveryIsStamped) {
  FrameCodec codec(plan, limitsOf(0));
  Bytes bytes;
  codec.encodeShutdown(bytes);
  EXPECT_EQ(deliverAtOf(bytes), Time(0));
  setDeliverAt(bytes, Time(987654321));
  EXPECT_EQ(deliverAtOf(bytes), Time(987654321));
  EXPECT_EQ(codec.readHeader(bytes)->deliverAt, Time(987654321));
  EXPECT_EQ(deliverAtOf(std::span(bytes).first(47)), Time(0));
}

} // namespace
