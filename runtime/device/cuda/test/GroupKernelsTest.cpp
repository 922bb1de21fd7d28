//===- GroupKernelsTest.cpp - kernels of collectives, in the emulator -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/CompactABI.h"
#include "runtime/device/cuda/kernels/GroupABI.h"
#include "runtime/device/cuda/test/LateInputs.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;

namespace {

/// Returns numbers whose sum depends on the order.
std::vector<float> numbersOf(int32_t member, size_t count) {
  std::mt19937 random(static_cast<unsigned>(member));
  std::vector<float> values = randomFloats(random, count);
  std::normal_distribution<float> normal;
  for (float &value : values)
    value *= std::pow(10.0F, normal(random));
  return values;
}

/// What a member has of the `count` numbers of each member.
struct Brought {
  Brought(int32_t members, int32_t member, size_t count)
      : mine(numbersOf(member, count)), others(size_t(members) * stride(count)),
        parts{mine.data(), others.data(), int64_t(stride(count)), members,
              member} {
    for (int32_t other = 0; other < members; ++other)
      if (other != member)
        std::ranges::copy(numbersOf(other, count),
                          others.data() + size_t(other) * stride(count));
  }
  static size_t stride(size_t count) { return (count + 63) / 64 * 64; }

  DeviceArray<float> mine, others;
  GroupParts parts;
};

class GroupKernels : public testing::TestWithParam<emulator::Order> {
protected:
  emulator::LaunchOptions options(uint32_t x, uint32_t y, uint32_t threads) {
    emulator::LaunchOptions options;
    options.grid = {x, y, 1};
    options.threads = threads;
    options.order = GetParam();
    return options;
  }
  DeviceArray<int32_t> passed =
      DeviceArray<int32_t>(std::vector<int32_t>{0}).inHostMemory();
};

/// The bits are those of members on CPUs: sums from the left, in the members'
/// order.
TEST_P(GroupKernels, SumsAreInTheMembersOrder) {
  for (int32_t members : {1, 2, 3, 4})
    for (size_t count : {size_t{0}, size_t{1}, size_t{64}, size_t{1031}}) {
      std::vector<float> expected = numbersOf(0, count);
      for (int32_t other = 1; other < members; ++other) {
        const std::vector<float> more = numbersOf(other, count);
        for (size_t i = 0; i < count; ++i)
          expected[i] += more[i];
      }
      Brought brought(members, members / 2, count);
      DeviceArray<float> sum(count);
      SumPartsArguments arguments = {
          brought.parts, sum.data(), int64_t(count), {passed.data(), members}};
      LateInputs late;
      late.hide(brought.mine);
      late.hide(brought.others);
      late.hide(sum);
      late.hide(passed);
      late.expectLaunch(options(2, 1, groupThreads), "sluice_sum_parts",
                        arguments);
      EXPECT_TRUE(sameBits<float>({sum.data(), count}, expected))
          << count << " numbers of " << members;
      EXPECT_EQ(passed[0], members) << "the host knows of the exchange";
    }
}

/// The columns of members may overlap at the end; rows beyond the count are not
/// written.
TEST_P(GroupKernels, ColumnsAreJoined) {
  constexpr int32_t rows = 3, capacity = 4;
  for (auto [members, part, cols] :
       {std::tuple{2, 8, 16}, std::tuple{3, 7, 20}, std::tuple{4, 300, 1190}}) {
    const auto count = size_t(capacity * part);
    Brought brought(members, 1, count);
    DeviceArray<float> all(size_t(capacity * cols));
    DeviceArray<int32_t> rowCount(std::vector<int32_t>{rows});
    JoinColumnsArguments arguments = {
        brought.parts, all.data(), rowCount.data(),
        part,          cols,       {passed.data(), 7}};
    LateInputs late;
    late.hide(brought.mine);
    late.hide(brought.others);
    late.hide(rowCount);
    late.hide(all);
    late.hide(passed);
    late.expectLaunch(options(capacity, 2, groupThreads), "sluice_join_columns",
                      arguments);
    std::vector<std::vector<float>> given;
    for (int32_t member = 0; member < members; ++member)
      given.push_back(numbersOf(member, count));
    for (int32_t row = 0; row < rows; ++row)
      for (int32_t col = 0; col < cols; ++col) {
        const int32_t member = col / part;
        const int32_t begin = std::min(member * part, cols - part);
        EXPECT_EQ(all[size_t(row * cols + col)],
                  given[size_t(member)][size_t(row * part + col - begin)]);
      }
    EXPECT_TRUE(std::isnan(all[size_t(rows * cols)]));
    EXPECT_EQ(passed[0], 7);
  }
}

TEST_P(GroupKernels, WhoLivesIsReadOnce) {
  std::vector<uint8_t> lives(700);
  for (size_t row = 0; row < lives.size(); ++row)
    lives[row] = row % 3 != 0;
  auto alive = DeviceArray<uint8_t>(lives).inHostMemory();
  DeviceArray<uint8_t> decided(lives.size());
  ReadAliveArguments arguments = {alive.data(), decided.data(),
                                  int64_t(lives.size())};
  LateInputs late;
  late.hide(alive);
  late.hide(decided);
  late.expectLaunch(options(1, 1, compactThreads), "sluice_read_alive",
                    arguments);
  EXPECT_EQ(decided.values(), lives);
}

INSTANTIATE_TEST_SUITE_P(, GroupKernels,
                         testing::Values(emulator::Order::Ascending,
                                         emulator::Order::Descending,
                                         emulator::Order::Shuffled));

} // namespace
