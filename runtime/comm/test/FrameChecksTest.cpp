//===- FrameChecksTest.cpp - refusals of invalid frames -------------------===//
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

TEST(FrameChecks, HeadersAreChecked) {
  FrameCodec codec(plan, limitsOf(0));
  Bytes good = encoded(codec, Maker(5).step(3));
  auto message = [&](Bytes bytes) {
    return codec.readHeader(bytes).status().message();
  };
  EXPECT_EQ(message(good), "");
  EXPECT_THAT(message({}), HasSubstr("48 bytes too short for a header"));
  Bytes bad = good;
  bad[0] = 'X';
  EXPECT_THAT(message(bad), HasSubstr("begins with 0x46554c58"));
  bad = good;
  poke<uint16_t>(bad, 4, 7);
  EXPECT_THAT(message(bad), HasSubstr("of version 7; this executable reads 6"));
  bad = good;
  poke<uint8_t>(bad, 6, 99);
  EXPECT_THAT(message(bad), HasSubstr("unknown kind 99"));
  bad = good;
  poke<uint8_t>(bad, 7, 1);
  EXPECT_THAT(message(bad), HasSubstr("a reserved byte is 1"));
  bad = good;
  poke<int64_t>(bad, 32, -5);
  EXPECT_THAT(message(bad), HasSubstr("the time of delivery -5 is not in"));
  bad = good;
  bad.pop_back();
  EXPECT_THAT(message(bad), HasSubstr("frame 'step': 1 bytes too short"));
  bad = good;
  bad.resize(good.size() + 3);
  EXPECT_THAT(message(bad), HasSubstr("frame 'step': 3 bytes too long"));

  Bytes report;
  codec.encodeReport("", report);
  poke<uint64_t>(report, 16, 1);
  EXPECT_THAT(message(report), HasSubstr("frame 'report': has a step: 1"));
  poke<uint64_t>(report, 16, 0);
  poke<uint64_t>(report, 24, 2);
  EXPECT_THAT(message(report),
              HasSubstr("frame 'report': counts frames of the head: 2"));

  FrameCodec other(plan + 1, limitsOf(0));
  EXPECT_EQ(other.readHeader(good).status().message(),
            "frame: from another plan: 0123456789abcdef; this rank's is "
            "0123456789abcdf0");
  ResultFrame results;
  EXPECT_EQ(codec.decodeResults(good, results).message(),
            "frame: kind 'step' instead of 'results'");
}

/// Returns the error with which a frame is refused that `change` has changed.
template <typename Change>
std::string refusal(const FrameLimits &limits, Change change) {
  FrameLimits wide = limits;
  wide.width = 4;
  FrameCodec codec(plan, wide);
  StepFrame frame;
  frame.opens.resize(1);
  frame.opens[0].promptTokens = frame.opens[0].knownTokens = 1;
  frame.unpins = {0};
  frame.pins.resize(1);
  frame.rows.push_back({10, 9, 0, 5, 6, true, true});
  frame.marks.resize(1);
  frame.closes = {0};
  frame.timings.resize(1);
  Bytes data(16);
  ActivationRows activations{ActivationFormat::F32, 4, data};
  change(frame, activations);
  Bytes bytes = encoded(codec, frame, activations);
  StepFrame decoded;
  return codec.decodeStep(bytes, decoded, activations).message();
}

TEST(FrameChecks, PagesAndOpensAreChecked) {
  FrameLimits limits = limitsOf(4);
  auto expect = [&](const char *reason, auto change) {
    EXPECT_THAT(refusal(limits, change), HasSubstr(reason));
  };
  EXPECT_EQ(refusal(limits, [](auto &, auto &) {}), "");
  expect("21 unpins, the limit is 20",
         [](auto &frame, auto &) { frame.unpins.resize(21); });
  expect("21 pins, the limit is 20",
         [](auto &frame, auto &) { frame.pins.resize(21); });
  expect("a shared page 20 is not in 0..19",
         [](auto &frame, auto &) { frame.unpins[0] = 20; });
  expect("a shared page -1 is not in 0..19",
         [](auto &frame, auto &) { frame.pins[0].page = -1; });
  expect("a request 8 is not in 0..7",
         [](auto &frame, auto &) { frame.pins[0].request = 8; });
  expect("a pinned node -1 is not in",
         [](auto &frame, auto &) { frame.pins[0].node = -1; });
  expect("a page of a path 4096 is not in 0..4095",
         [](auto &frame, auto &) { frame.pins[0].index = 4096; });
  expect("a number of known tokens 0 is not in 1..4096",
         [](auto &frame, auto &) { frame.opens[0].knownTokens = 0; });
  expect("21 prefix pages, the limit is 20",
         [](auto &frame, auto &) { frame.opens[0].prefixPages.resize(21); });
  expect("a shared page 20 is not in 0..19",
         [](auto &frame, auto &) { frame.opens[0].prefixPages.push_back(20); });
  expect("4097 scored tokens, the limit is 4096",
         [](auto &frame, auto &) { frame.opens[0].scored.resize(4097); });
  expect("a token 32000 is not in 0..31999",
         [](auto &frame, auto &) { frame.opens[0].scored = {32000}; });
  expect("4097 prefix tokens, the limit is 4096",
         [](auto &frame, auto &) { frame.opens[0].prefix.resize(4097); });
  expect("a token -1 is not in",
         [](auto &frame, auto &) { frame.opens[0].prefix.push_back(-1); });
  expect("9 opens, the limit is 8",
         [](auto &frame, auto &) { frame.opens.resize(9, frame.opens[0]); });
  expect("9 marks, the limit is 8",
         [](auto &frame, auto &) { frame.marks.resize(9); });
}

TEST(FrameChecks, RowsAndWhatGoesWithThemAreChecked) {
  FrameLimits limits = limitsOf(4);
  auto expect = [&](const char *reason, auto change) {
    EXPECT_THAT(refusal(limits, change), HasSubstr(reason));
  };
  expect("41 rows, the limit is 40", [](auto &frame, auto &activations) {
    frame.rows.resize(41, frame.rows[0]);
    activations.data = {};
  });
  expect("9 closes, the limit is 8",
         [](auto &frame, auto &) { frame.closes.resize(9); });
  expect("17 timings, the limit is 16",
         [](auto &frame, auto &) { frame.timings.resize(17); });
  expect("a node -1 is not in",
         [](auto &frame, auto &) { frame.rows[0].node = -1; });
  expect("a row's parent 10 is not in -1..9",
         [](auto &frame, auto &) { frame.rows[0].parent = 10; });
  expect("a request 8 is not in 0..7",
         [](auto &frame, auto &) { frame.rows[0].request = 8; });
  expect("a position 4096 is not in 0..4095",
         [](auto &frame, auto &) { frame.rows[0].position = 4096; });
  expect("a token 32000 is not in 0..31999",
         [](auto &frame, auto &) { frame.rows[0].token = 32000; });
  expect("a request -1 is not in",
         [](auto &frame, auto &) { frame.closes[0] = -1; });
  expect("an epoch -1 is not in",
         [](auto &frame, auto &) { frame.marks[0].epoch = -1; });
  expect("a confirmed node -2 is not in",
         [](auto &frame, auto &) { frame.marks[0].confirmed = -2; });
  expect("a prompt's length 0 is not in",
         [](auto &frame, auto &) { frame.opens[0].promptTokens = 0; });
  expect("a number of log-probabilities 6 is not in -1..5",
         [](auto &frame, auto &) { frame.opens[0].logProbabilities = 6; });
  expect("temperature is -1",
         [](auto &frame, auto &) { frame.opens[0].sampling.temperature = -1; });
  expect("a biased token 32000 is not in", [](auto &frame, auto &) {
    frame.opens[0].sampling.logitBias[32000] = 1;
  });
  expect("rows that left 1 is not in 0..0",
         [](auto &frame, auto &) { frame.timings[0].departed = 1; });
  expect("a busy time -1 is not in",
         [](auto &frame, auto &) { frame.timings[0].busyNanos = -1; });
  expect("activations of width 2 instead of 4", [](auto &, auto &activations) {
    activations.width = 2;
    activations.data = activations.data.first(8);
  });
  expect("activations of width 0 instead of 4",
         [](auto &, auto &activations) { activations.data = {}; });
}

TEST(FrameChecks, AnswersAreChecked) {
  FrameCodec codec(plan, limitsOf(0));
  Bytes bytes;
  ResultFrame results;
  results.results.push_back({1, 0, 2, {{3, 0.5f}}});
  codec.encodeResults(results, bytes);
  EXPECT_THAT(codec.decodeResults(bytes, results).message(),
              HasSubstr("a log-probability is 0.5, not at most 0"));
  results.results = {{1, 0, 2, {}}};
  results.results[0].report.resize(7);
  codec.encodeResults(results, bytes);
  EXPECT_THAT(codec.decodeResults(bytes, results).message(),
              HasSubstr("7 report entries, the limit is 6"));
  results.results = {{1, 0, 2, {}, std::string(2000, 'e')}};
  codec.encodeResults(results, bytes);
  ASSERT_TRUE(codec.decodeResults(bytes, results).ok());
  EXPECT_EQ(results.results[0].error, std::string(1024, 'e'));
  EXPECT_FALSE(results.results[0].isNotFinite);
  results.results[0].isNotFinite = true;
  codec.encodeResults(results, bytes);
  ASSERT_TRUE(codec.decodeResults(bytes, results).ok());
  EXPECT_TRUE(results.results[0].isNotFinite);
}

/// Errors in a body whose header and numbers are valid are refused.
TEST(FrameChecks, BodiesAreChecked) {
  FrameCodec codec(plan, limitsOf(4));
  StepFrame frame;
  frame.rows.push_back({10, 9, 0, 5, 6, true, true});
  Bytes data(16);
  Bytes good = encoded(codec, frame, {ActivationFormat::F32, 4, data});
  StepFrame decoded;
  ActivationRows activations;
  auto message = [&](Bytes bytes) {
    poke<uint64_t>(bytes, 40, bytes.size());
    return codec.decodeStep(bytes, decoded, activations).message();
  };
  ASSERT_EQ(message(good), "");
  Bytes bad = good;
  bad.resize(good.size() - 5);
  EXPECT_THAT(message(bad), HasSubstr("frame 'step': 5 bytes too short"));
  bad = good;
  bad.resize(good.size() + 5);
  EXPECT_THAT(message(bad), HasSubstr("frame 'step': 5 bytes too long"));
  bad = good;
  poke<uint32_t>(bad, 60, 40); // rows
  EXPECT_THAT(message(bad), HasSubstr("40 rows take 1160 bytes"));
  bad = good;
  poke<uint8_t>(bad, 80, 3); // format
  EXPECT_THAT(message(bad), HasSubstr("an activation format 3 is not in 0..2"));
  bad = good;
  poke<uint8_t>(bad, 80, 1);
  EXPECT_THAT(message(bad), HasSubstr("activations as bf16 instead of f32"));
  bad = good;
  poke<uint32_t>(bad, 60, 0); // no rows
  EXPECT_THAT(message(bad), HasSubstr("a tombstone with a body"));
  bad = good;
  bad[good.size() - 17] = 1; // before the activations
  EXPECT_THAT(message(bad), HasSubstr("padding is not zero"));
}

/// Decodes with every decoder. Each must refuse or accept, and never crash.
void decodeAll(const FrameCodec &codec, const Bytes &bytes) {
  StepFrame step;
  ActivationRows activations;
  ResultFrame results;
  EpochFrame epochs;
  ErrorFrame error;
  std::string text;
  (void)codec.decodeStep(bytes, step, activations);
  (void)codec.decodeResults(bytes, results);
  (void)codec.decodeEpochs(bytes, epochs);
  (void)codec.decodeError(bytes, error);
  (void)codec.decodeReport(bytes, text);
}

TEST(FrameChecks, DamagedFramesDoNotCrash) {
  FrameLimits limits = limitsOf(8);
  limits.format = ActivationFormat::F16;
  FrameCodec codec(plan, limits);
  Maker maker(11);
  Bytes data = maker.data(20 * 8 * 2);
  std::vector<Bytes> frames(3);
  frames[0] = encoded(codec, maker.step(20), {ActivationFormat::F16, 8, data});
  codec.encodeResults(maker.results(), frames[1]);
  codec.encodeEpochs({Time(5), {maker.mark(), maker.mark()}}, frames[2]);
  for (const Bytes &frame : frames) {
    for (size_t length = 0; length < frame.size(); ++length) {
      // Cut the frame off, once with its old header and once with a header of
      // the new length.
      Bytes cut(frame.begin(), frame.begin() + int64_t(length));
      EXPECT_FALSE(codec.readHeader(cut).ok());
      if (length < frameHeaderBytes)
        continue;
      poke<uint64_t>(cut, 40, length);
      decodeAll(codec, cut);
    }
    for (int i = 0; i < 20000; ++i) {
      Bytes damaged = frame;
      for (int64_t n = maker.between(1, 4); n > 0; --n)
        damaged[size_t(
            maker.between(frameHeaderBytes, int64_t(frame.size()) - 1))] =
            uint8_t(maker.upTo(255));
      decodeAll(codec, damaged);
    }
  }
}

/// The codec carries every grammar that the API accepts.
TEST(FrameChecks, TheLongestGrammarFits) {
  FrameCodec codec(plan, limitsOf(0));
  Maker maker(3);
  StepFrame sent, got;
  sent.opens.push_back(maker.open());
  ActivationRows none;
  auto decoded = [&](size_t bytes) {
    sent.opens[0].grammar = {GrammarSource::Kind::Gbnf,
                             std::string(bytes, 'g')};
    return codec.decodeStep(encoded(codec, sent, {}), got, none).message();
  };
  EXPECT_EQ(decoded(GrammarSource::maxBytes), "");
  ASSERT_EQ(got.opens.size(), 1u);
  EXPECT_EQ(got.opens[0].grammar, sent.opens[0].grammar);
  EXPECT_THAT(decoded(GrammarSource::maxBytes + 1),
              HasSubstr("1048577 letters of a grammar"));
}

} // namespace
