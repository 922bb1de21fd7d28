//===- FrameMaker.h - random frames, for tests ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_TEST_FRAMEMAKER_H
#define SLUICE_RUNTIME_COMM_TEST_FRAMEMAKER_H

#include "runtime/comm/Frame.h"

#include <cstring>
#include <random>

namespace sluice::comm::test {

inline constexpr uint64_t plan = 0x0123456789abcdef;

inline FrameLimits limitsOf(int64_t width) {
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
    open.grammar.scope = random();
    open.tenant = random();
    fill(open.prefixPages, upTo(3), [&] { return page(); });
    fill(open.prefix, upTo(70), [&] { return token(); });
    fill(open.scored, upTo(70), [&] { return token(); });
    return open;
  }

  PinPage pin() {
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
    fill(frame.unpins, upTo(20), [&] { return page(); });
    fill(frame.opens, upTo(3), [&] { return open(); });
    fill(frame.marks, upTo(8), [&] { return mark(); });
    fill(frame.rows, rows, [&] { return row(); });
    fill(frame.pins, upTo(20), [&] { return pin(); });
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
           [&] { return TokenLogProbability{token(), real(-50, 0)}; });
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

/// Encodes a step frame. Frames are equal if their bytes are, since encoders
/// write every field.
inline Bytes encoded(const FrameCodec &codec, const StepFrame &frame,
                     const ActivationRows &rows = {}) {
  Bytes bytes;
  codec.encodeStep(frame, rows, bytes);
  return bytes;
}

template <typename T> void poke(Bytes &bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

} // namespace sluice::comm::test

#endif // SLUICE_RUNTIME_COMM_TEST_FRAMEMAKER_H
