//===- FrameTest.cpp - tests of frames ------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Frame.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace sluice;
using namespace sluice::comm;
using testing::HasSubstr;

namespace {

constexpr uint64_t plan = 0x0123456789abcdef;

FrameLimits limitsOf(int64_t width) {
  FrameLimits limits;
  limits.rows = 40;
  limits.requests = 8;
  limits.contextLength = 4096;
  limits.sharedPages = 20;
  limits.vocabSize = 32000;
  limits.width = width;
  limits.stages = 16;
  limits.reportEntries = 6;
  limits.textBytes = 1000;
  return limits;
}

/// Frames with random content within the limits.
class Maker {
public:
  explicit Maker(uint64_t seed) : random(seed) {}

  int64_t upTo(int64_t high) { return between(0, high); }
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  double real(double low, double high) {
    return std::uniform_real_distribution<>(low, high)(random);
  }

  OpenRequest open() {
    OpenRequest open;
    open.request = int32_t(upTo(7));
    open.firstNode = upTo(std::numeric_limits<int64_t>::max());
    open.promptTokens = int32_t(between(1, 4096));
    open.knownTokens = int32_t(between(open.promptTokens, 4096));
    open.logProbabilities = int32_t(between(-1, 5));
    open.sampling.temperature = real(0.1, 2);
    open.sampling.topK = between(-1, 100);
    open.sampling.topP = real(0.1, 1);
    open.sampling.minP = real(0, 1);
    open.sampling.repetitionPenalty = real(0.5, 2);
    open.sampling.presencePenalty = real(-2, 2);
    open.sampling.frequencyPenalty = real(-2, 2);
    open.sampling.seed = random();
    for (int64_t i = upTo(4); i > 0; --i)
      open.sampling.logitBias[token()] =
          i % 2 ? real(-100, 100) : -std::numeric_limits<double>::infinity();
    fill(open.prefixPages, upTo(3), [&] { return page(); });
    fill(open.prefix, upTo(70), [&] { return token(); });
    return open;
  }

  KeepPage keep() {
    return {int32_t(upTo(7)), upTo(int64_t{1} << 50), int32_t(upTo(4095)),
            page()};
  }

  EpochMark mark() {
    return {int32_t(upTo(7)), int32_t(upTo(1 << 30)),
            between(-1, int64_t{1} << 40), upTo(1) == 1};
  }

  Row row() {
    Row row;
    row.node = upTo(int64_t{1} << 50);
    row.parent = between(-1, row.node - 1);
    row.request = int32_t(upTo(7));
    row.position = int32_t(upTo(4095));
    row.token = token();
    row.certain = upTo(1) == 1;
    row.wantsOutput = upTo(1) == 1;
    return row;
  }

  StageTiming timing() {
    auto rows = int32_t(upTo(500));
    return {rows, int32_t(upTo(rows)), upTo(1 << 30), upTo(1 << 30)};
  }

  StepFrame step(int64_t rows) {
    StepFrame frame;
    frame.step = random();
    frame.launched = random();
    fill(frame.drops, upTo(20), [&] { return page(); });
    fill(frame.opens, upTo(3), [&] { return open(); });
    fill(frame.marks, upTo(8), [&] { return mark(); });
    fill(frame.rows, rows, [&] { return row(); });
    fill(frame.keeps, upTo(20), [&] { return keep(); });
    fill(frame.closes, between(1, 3), [&] { return int32_t(upTo(7)); });
    fill(frame.timings, upTo(16), [&] { return timing(); });
    return frame;
  }

  ResultFrame results() {
    ResultFrame frame;
    frame.step = random();
    frame.launched = random();
    fill(frame.results, upTo(40), [&] {
      ResultRow row{upTo(1 << 30),
                    int32_t(upTo(7)),
                    token(),
                    {},
                    std::string(size_t(upTo(3)), 'e')};
      fill(row.report, upTo(6),
           [&] { return TokenReportEntry{token(), float(real(-50, 0))}; });
      return row;
    });
    fill(frame.timings, upTo(16), [&] { return timing(); });
    return frame;
  }

  Bytes data(size_t bytes) {
    Bytes data(bytes);
    for (uint8_t &each : data)
      each = uint8_t(random());
    return data;
  }

private:
  int32_t token() { return int32_t(upTo(31999)); }
  SharedPage page() { return int32_t(upTo(19)); }

  template <typename T, typename Make>
  void fill(std::vector<T> &list, int64_t count, Make make) {
    for (int64_t i = 0; i < count; ++i)
      list.push_back(make());
  }

  std::mt19937_64 random;
};

/// Frames are equal where their bytes are: encoders write every field.
Bytes encoded(const FrameCodec &codec, const StepFrame &frame,
              const ActivationRows &rows = {}) {
  Bytes bytes;
  codec.encodeStep(frame, rows, bytes);
  return bytes;
}

template <typename T> void poke(Bytes &bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

TEST(Frame, StepsComeBackAsTheyWere) {
  StepFrame decoded; // used again, as a stage does
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
    EXPECT_EQ(decoded.drops, frame.drops);
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
      EXPECT_EQ(decoded.opens[i].prefixPages, frame.opens[i].prefixPages);
      EXPECT_EQ(decoded.opens[i].prefix, frame.opens[i].prefix);
    }
    ASSERT_EQ(decoded.keeps.size(), frame.keeps.size());
    for (size_t i = 0; i < frame.keeps.size(); ++i) {
      EXPECT_EQ(decoded.keeps[i].request, frame.keeps[i].request);
      EXPECT_EQ(decoded.keeps[i].node, frame.keeps[i].node);
      EXPECT_EQ(decoded.keeps[i].index, frame.keeps[i].index);
      EXPECT_EQ(decoded.keeps[i].page, frame.keeps[i].page);
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
  frame.drops.clear();
  frame.opens.clear();
  frame.keeps.clear();
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

/// What has no rows can have something to say all the same.
TEST(Frame, OrdersAreNoTombstones) {
  FrameCodec codec(plan, limitsOf(64));
  StepFrame decoded;
  ActivationRows activations;
  StepFrame frame;
  frame.drops = {7};
  Status status = codec.decodeStep(encoded(codec, frame), decoded, activations);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(decoded.drops, frame.drops);
  EXPECT_FALSE(decoded.isTombstone());
  frame = {};
  frame.keeps = {{1, 2, 3, 4}};
  status = codec.decodeStep(encoded(codec, frame), decoded, activations);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(decoded.drops.empty());
  ASSERT_EQ(decoded.keeps.size(), 1u);
  EXPECT_EQ(decoded.keeps[0].page, 4);
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

TEST(Frame, HeadersAreChecked) {
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
  EXPECT_THAT(message(bad), HasSubstr("of version 7; this executable reads 2"));
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

/// What a frame that is changed by `change` is refused with.
template <typename Change>
std::string refusal(const FrameLimits &limits, Change change) {
  FrameLimits wide = limits;
  wide.width = 4;
  FrameCodec codec(plan, wide);
  StepFrame frame;
  frame.opens.resize(1);
  frame.opens[0].promptTokens = frame.opens[0].knownTokens = 1;
  frame.drops = {0};
  frame.keeps.resize(1);
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

TEST(Frame, ContentIsChecked) {
  FrameLimits limits = limitsOf(4);
  auto expect = [&](const char *reason, auto change) {
    EXPECT_THAT(refusal(limits, change), HasSubstr(reason));
  };
  EXPECT_EQ(refusal(limits, [](auto &, auto &) {}), "");
  expect("21 drops, the limit is 20",
         [](auto &frame, auto &) { frame.drops.resize(21); });
  expect("21 keeps, the limit is 20",
         [](auto &frame, auto &) { frame.keeps.resize(21); });
  expect("a shared page 20 is not in 0..19",
         [](auto &frame, auto &) { frame.drops[0] = 20; });
  expect("a shared page -1 is not in 0..19",
         [](auto &frame, auto &) { frame.keeps[0].page = -1; });
  expect("a request 8 is not in 0..7",
         [](auto &frame, auto &) { frame.keeps[0].request = 8; });
  expect("a kept node -1 is not in",
         [](auto &frame, auto &) { frame.keeps[0].node = -1; });
  expect("a page of a path 4096 is not in 0..4095",
         [](auto &frame, auto &) { frame.keeps[0].index = 4096; });
  expect("a number of known tokens 0 is not in 1..4096",
         [](auto &frame, auto &) { frame.opens[0].knownTokens = 0; });
  expect("21 prefix pages, the limit is 20",
         [](auto &frame, auto &) { frame.opens[0].prefixPages.resize(21); });
  expect("a shared page 20 is not in 0..19",
         [](auto &frame, auto &) { frame.opens[0].prefixPages.push_back(20); });
  expect("4097 prefix tokens, the limit is 4096",
         [](auto &frame, auto &) { frame.opens[0].prefix.resize(4097); });
  expect("a token -1 is not in",
         [](auto &frame, auto &) { frame.opens[0].prefix.push_back(-1); });
  expect("9 opens, the limit is 8",
         [](auto &frame, auto &) { frame.opens.resize(9, frame.opens[0]); });
  expect("9 marks, the limit is 8",
         [](auto &frame, auto &) { frame.marks.resize(9); });
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
         [](auto &frame, auto &) { frame.timings[0].left = 1; });
  expect("a busy time -1 is not in",
         [](auto &frame, auto &) { frame.timings[0].busyNanos = -1; });
  expect("activations of width 2 instead of 4", [](auto &, auto &activations) {
    activations.width = 2;
    activations.data = activations.data.first(8);
  });
  expect("activations of width 0 instead of 4",
         [](auto &, auto &activations) { activations.data = {}; });
}

TEST(Frame, AnswersAreChecked) {
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
}

/// What is wrong between a good header and good numbers.
TEST(Frame, BodiesAreChecked) {
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

/// Decodes with every decoder; they must refuse or accept, and never crash.
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

TEST(Frame, DamagedFramesDoNotCrash) {
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
      // Cut off, once as it is and once with a header that says so.
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

} // namespace
