//===- EmbedTest.cpp - tables on the device, in the emulator --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A looked-up row must have the bits that runtime/formats makes of the stored
// row, which a CPU uses to look up tables.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/EmbedABI.h"
#include "runtime/device/cuda/test/LateInputs.h"
#include "runtime/device/cuda/test/StoredWeight.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;

namespace {

class EmbedTest : public testing::TestWithParam<int> {
protected:
  WeightKind kind() const { return WeightKind(GetParam()); }

  /// Returns rows of the table, looked up in a graph with two rows more.
  std::vector<float> lookUp(const DeviceWeight &table,
                            const std::vector<int32_t> &entries) {
    const auto features = static_cast<int32_t>(table.spec.inFeatures);
    const uint32_t capacity = uint32_t(entries.size()) + 2;
    DeviceArray<float> out(capacity * size_t(features));
    DeviceArray<int32_t> index(entries);
    DeviceArray<int32_t> count(std::vector{int32_t(entries.size())});
    EmbedArguments arguments = {};
    arguments.table = table.tiles.data();
    arguments.index = index.data();
    arguments.out = out.data();
    arguments.rowCount = count.data();
    arguments.features = features;
    emulator::LaunchOptions options;
    options.grid = {capacity,
                    uint32_t(divideUp(features, embedFeatures(kind()))), 1};
    options.threads = embedThreads;
    options.order = emulator::Order::Shuffled;
    LateInputs late;
    late.hide(out);
    late.hide(index);
    late.hide(count);
    late.expectLaunch(options, std::string("sluice_embed_") + kindName(kind()),
                      arguments);
    return out.values();
  }

  /// Looks up the first and the last of 75 entries, one entry twice, and one of
  /// each eight.
  void expectRows(int64_t features) {
    std::mt19937 random(unsigned(GetParam()) + 1);
    StoredWeight stored = randomWeight(random, kind(), 75, features);
    const std::vector<int32_t> entries = {0, 74, 17, 17, 8, 31, 64};
    std::vector<float> found = lookUp(deviceWeight(stored), entries);
    const auto width = static_cast<size_t>(features);
    for (size_t row = 0; row < entries.size(); ++row)
      EXPECT_TRUE(sameBits<float>(
          {found.data() + row * width, width},
          {stored.values.data() + size_t(entries[row]) * width, width}))
          << features << " features, row " << row;
    // Rows beyond the count are not written.
    DeviceArray<float> untouched(2 * width);
    EXPECT_TRUE(
        sameBits<float>({found.data() + entries.size() * width, 2 * width},
                        untouched.values()));
  }
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Kinds, EmbedTest, testing::Range(0, weightKindCount),
                         [](const testing::TestParamInfo<int> &info) {
                           return kindName(WeightKind(info.param));
                         });

TEST_P(EmbedTest, RowsAreTheTables) {
  switch (kind()) {
  case WeightKind::Q8_0:
  case WeightKind::Q4_0:
    expectRows(32);
    expectRows(672);
    expectRows(2080);
    return;
  case WeightKind::E4M3:
    expectRows(128);
    expectRows(2304);
    return;
  case WeightKind::Q4_K:
  case WeightKind::Q6_K:
    expectRows(256);
    expectRows(2304);
    return;
  default:
    expectRows(1);
    expectRows(650);
    expectRows(651);
    expectRows(2053);
  }
}
