//===- RandomTileTest.cpp - weights that are made from a seed -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels must make, byte for byte, what the host's layout makes of the
// host's random rows.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Kernels.h"
#include "runtime/device/cuda/test/LateInputs.h"
#include "runtime/device/cuda/weights/WeightLayout.h"
#include "runtime/formats/RandomRow.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;

namespace {

/// A kernel, the format of the rows that it makes, and that of its tiles.
struct Case {
  const char *name; ///< after "sluice_random_"
  Format stored, format;
};

const std::vector<Case> &cases() {
  auto formatOf = [](const char *name) { return *parseFormat(name); };
  static const std::vector<Case> all = {
#define SLUICE_CASE(kind, name) {#name, formatOf(#name), formatOf(#name)},
      SLUICE_FOR_EACH_RANDOM(SLUICE_CASE)
#undef SLUICE_CASE
#define SLUICE_CASE(kind, name)                                                \
  {"e4m3_of_" #name, formatOf(#name), Format::E4M3},
          SLUICE_FOR_EACH_RANDOM_E4M3_OF(SLUICE_CASE)
#undef SLUICE_CASE
  };
  return all;
}

class RandomTileTest : public testing::TestWithParam<size_t> {
protected:
  const Case &tested() const { return cases()[GetParam()]; }

  WeightSpec spec(int64_t out, int64_t in, bool gated) const {
    return {*weightKind(tested().format), out, in, gated};
  }

  RandomSource sourceOf(const RandomRows &rows) const {
    const auto units = sluice::randomUnits(tested().stored, rows.spread);
    return {rows.key, rows.spread.mean, units.unit, units.d, units.dmin, 0};
  }

  /// Returns the rows that the host makes, in the format of the tiles.
  std::vector<uint8_t> hostRows(const RandomRows &rows, int64_t out,
                                int64_t in) const {
    const uint64_t bytes = *rowBytes(tested().format, in);
    std::vector<uint8_t> made(uint64_t(out) * bytes);
    std::vector<uint8_t> stored(*rowBytes(tested().stored, in));
    std::vector<float> values(static_cast<size_t>(in));
    for (int64_t row = 0; row < out; ++row) {
      writeRandomRow(tested().stored, rows.keyOf(row), rows.spread,
                     stored.data(), in);
      uint8_t *to = made.data() + uint64_t(row) * bytes;
      if (tested().stored == tested().format) {
        std::memcpy(to, stored.data(), bytes);
        continue;
      }
      dequantizeRow(tested().stored, stored.data(), values.data(), in);
      quantizeRow(tested().format, values.data(), to, in);
    }
    return made;
  }

  std::vector<uint8_t> deviceTiles(const WeightSpec &spec,
                                   const RandomRows &rows,
                                   const RandomRows &partner,
                                   emulator::Order order) const {
    DeviceArray<uint8_t> tiles(*layoutBytes(spec));
    RandomArguments arguments = {};
    arguments.tiles = tiles.data();
    arguments.source = sourceOf(rows);
    arguments.partner = sourceOf(partner);
    arguments.outFeatures = int32_t(spec.outFeatures);
    arguments.inFeatures = int32_t(spec.inFeatures);
    arguments.isGated = spec.gated;
    emulator::LaunchOptions options;
    options.grid = {uint32_t(randomBlocks(spec.kind, columnTiles(spec),
                                          arguments.inFeatures)),
                    1, 1};
    options.threads = randomThreads;
    options.sharedBytes = randomSharedBytes;
    options.order = order;
    options.resident = 2;
    LateInputs late;
    late.hide(tiles);
    late.expectLaunch(options, std::string("sluice_random_") + tested().name,
                      arguments);
    return tiles.values();
  }

  void expectTiles(int64_t out, int64_t in, bool gated, float mean = 0) {
    // The two weights have a key and a spread each.
    const RandomRows rows = {randomKey(3, uint64_t(in)), {mean, 0.03f}};
    const RandomRows partner = {randomKey(4, uint64_t(out)), {mean, 0.2f}};
    const WeightSpec shape = spec(out, in, gated);
    const std::vector<uint8_t> gate = hostRows(rows, out, in);
    const std::vector<uint8_t> other = hostRows(partner, out, in);
    std::vector<uint8_t> expected(*layoutBytes(shape));
    layoutTiles(shape, gate.data(), gated ? other.data() : nullptr,
                expected.data(), 0, columnTiles(shape));
    for (auto order : {emulator::Order::Descending, emulator::Order::Shuffled})
      EXPECT_EQ(deviceTiles(shape, rows, partner, order), expected)
          << out << " x " << in << (gated ? ", gated" : "");
  }
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Kernels, RandomTileTest,
                         testing::Range(size_t{0}, size_t{11}),
                         [](const testing::TestParamInfo<size_t> &info) {
                           return std::string(cases()[info.param].name);
                         });

TEST(RandomTileTest, AreAllTested) { EXPECT_EQ(cases().size(), 11u); }

/// Columns end within a tile or at its end, and features within a unit, at its
/// end, and after more than one block.
TEST_P(RandomTileTest, AreTheHosts) {
  std::vector<int64_t> features;
  switch (tested().format) {
  case Format::Q8_0:
  case Format::Q4_0:
    features = {32, 96, 128, 1024, 1056};
    break;
  case Format::E4M3:
    features = {128, 1024, 1152};
    break;
  case Format::Q4_K:
  case Format::Q6_K:
    features = {256, 1024, 1280};
    break;
  default:
    features = {1, 63, 64, 66, 127, 129, 1025};
  }
  for (int64_t in : features)
    for (int64_t out : {1, 16, 41}) {
      expectTiles(out, in, false);
      expectTiles(out, in, true);
    }
}

TEST_P(RandomTileTest, HaveTheMeanThatIsAskedFor) {
  expectTiles(17, 256, false, 1);
}
