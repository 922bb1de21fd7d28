//===- CompactTest.cpp - checkpoints on the device, in the emulator -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same steps go through the core's bookkeeping and through the kernels. The
// moves, tables, outputs and mirrors must be the same.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StepBatch.h"
#include "runtime/device/cuda/kernels/CompactABI.h"
#include "runtime/device/cuda/test/LateInputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;
using emulator::Order;

namespace {

/// A step on the device and in the core.
class CompactTest : public testing::Test {
protected:
  static constexpr int32_t capacity = 700;

  void begin(int32_t rows) {
    batch.clear();
    counts = DeviceArray<int32_t>(std::vector<int32_t>{rows, 0, 0, -1});
    for (int32_t row = 0; row < rows; ++row) {
      bool wants = random() % 3 == 0;
      ASSERT_TRUE(batch.add(row, row * 3, 0, wants).ok());
      states[0][size_t(row)] = row * 3;
      states[1][size_t(row)] = row;
      states[2][size_t(row)] = row;
      states[3][size_t(row)] = wants ? counts[1] + 1 : 0;
      departedAt[size_t(row)] = 0;
      if (wants) {
        outputSources[size_t(counts[1])] = counts[1];
        firstRows[size_t(counts[1])] = row;
        outputRows[size_t(counts[1]++)] = row;
      }
      if (random() % 5 == 0) {
        ASSERT_TRUE(batch.addMirror(row, 1000 + row).ok());
        mirrorRows[size_t(counts[2])] = row;
        mirrorSequences[size_t(counts[2]++)] = 1000 + row;
      }
      for (int32_t i = 0; i < width; ++i)
        values[size_t(row * width + i)] = row * 100 + i;
    }
    alive = DeviceArray<uint8_t>(std::vector<uint8_t>(size_t(rows), 1))
                .inHostMemory();
    expectedDeparted.assign(size_t(rows), 0);
    checkpoint = passed[0] = 0;
  }

  void compact(Order order) {
    CompactArguments arguments = {};
    arguments.alive = alive.data();
    arguments.rowCount = &counts[0];
    for (int i = 0; i < 4; ++i)
      arguments.states[i] = states[i].data();
    arguments.stateCount = 4;
    arguments.origins = states[2].data();
    arguments.wantsOutput = states[3].data();
    arguments.departedAt = departedAt.data();
    arguments.checkpoint = ++checkpoint;
    arguments.passed = &passed[0];
    arguments.outputCount = &counts[1];
    arguments.outputRows = numbered ? nullptr : outputRows.data();
    arguments.outputSources = outputSources.data();
    arguments.mirrorCount = &counts[2];
    arguments.mirrorRows = mirrorRows.data();
    arguments.mirrorSequences = mirrorSequences.data();
    arguments.moves = moves.data();
    arguments.moveCount = &counts[3];
    arguments.rowNow = rowNow.data();
    arguments.rowCapacity = capacity;
    LateInputs late;
    late.hide(alive);
    late.hide(counts);
    late.hide(passed);
    for (DeviceArray<int32_t> &state : states)
      late.hide(state);
    for (DeviceArray<int32_t> *list :
         {&outputRows, &outputSources, &mirrorRows, &mirrorSequences, &moves,
          &rowNow, &departedAt, &values})
      late.hide(*list);
    emulator::LaunchOptions options;
    options.threads = compactThreads;
    options.sharedBytes = size_t(compactSharedBytes(capacity));
    options.order = order;
    late.expectLaunch(options, "sluice_compact", arguments);
    moveValues(late, options);
  }

  void moveValues(LateInputs &late, emulator::LaunchOptions options) {
    MoveArguments move = {};
    move.values[0] = reinterpret_cast<uint8_t *>(values.data());
    move.rowBytes[0] = width * 4;
    move.moves = moves.data();
    move.moveCount = &counts[3];
    options.threads = moveThreads;
    options.grid = {3, 1, 1};
    options.sharedBytes = 0;
    late.expectLaunch(options, "sluice_move_values", move);
  }

  /// Makes rows die. Core and device must agree afterwards.
  void kill(const std::vector<uint8_t> &livesBySlot, Order order) {
    for (int32_t row = 0; row < counts[0]; ++row)
      if (!livesBySlot[size_t(row)])
        alive[size_t(states[2][size_t(row)])] = 0;
    for (size_t row = 0; row < alive.size(); ++row)
      expectedDeparted[row] = alive[row]              ? 0
                              : expectedDeparted[row] ? expectedDeparted[row]
                                                      : checkpoint + 1;
    const int32_t before = passed[0], rows = counts[0];
    std::vector<RowMove> plan;
    int64_t living = planCompaction(livesBySlot, plan);

    batch.keep(livesBySlot, plan, living);
    compact(order);

    EXPECT_EQ(passed[0], plan.empty() && living == rows ? before : checkpoint);
    ASSERT_EQ(counts[0], living);
    ASSERT_EQ(counts[3], int32_t(plan.size()));
    for (size_t i = 0; i < plan.size(); ++i)
      EXPECT_EQ((RowMove{moves[2 * i], moves[2 * i + 1]}), plan[i]);
    for (int32_t row = 0; row < counts[0]; ++row) {
      auto at = size_t(row);
      EXPECT_EQ(states[0][at], batch.positions()[at]);
      EXPECT_EQ(states[1][at], batch.sequences()[at]);
      for (int32_t i = 0; i < width; ++i)
        ASSERT_EQ(values[size_t(row * width + i)], states[2][at] * 100 + i);
    }
    for (size_t row = 0; row < alive.size(); ++row)
      EXPECT_EQ(departedAt[row], expectedDeparted[row]) << row;
    std::vector<int32_t> outputs(outputRows.data(),
                                 outputRows.data() + counts[1]);
    EXPECT_THAT(outputs, testing::ElementsAreArray(batch.outputRows()));
    for (int32_t i = 0; i < counts[1]; ++i)
      EXPECT_EQ(firstRows[size_t(outputSources[size_t(i)])],
                states[2][size_t(outputs[size_t(i)])]);
    std::vector<Mirror> mirrors;
    for (int32_t i = 0; i < counts[2]; ++i)
      mirrors.push_back({mirrorRows[size_t(i)], mirrorSequences[size_t(i)]});
    EXPECT_THAT(mirrors, testing::UnorderedElementsAreArray(batch.mirrors()));
  }

  std::vector<uint8_t> randomLives(unsigned percent) {
    std::vector<uint8_t> lives;
    lives.resize(static_cast<size_t>(counts[0]));
    for (uint8_t &each : lives)
      each = random() % 100 < percent;
    return lives;
  }

  int32_t width = 33;
  std::mt19937 random{5};
  StepBatch batch{capacity, capacity, capacity};
  DeviceArray<int32_t> counts; ///< rows, outputs, mirrors, moves
  DeviceArray<int32_t> passed = DeviceArray<int32_t>(1).inHostMemory();
  DeviceArray<int32_t> states[4] = {
      DeviceArray<int32_t>(capacity), DeviceArray<int32_t>(capacity),
      DeviceArray<int32_t>(capacity), DeviceArray<int32_t>(capacity)};
  /// [output at the step's start]
  std::vector<int32_t> firstRows = std::vector<int32_t>(capacity);
  DeviceArray<int32_t> outputRows{capacity}, outputSources{capacity},
      mirrorRows{capacity}, mirrorSequences{capacity}, moves{capacity},
      rowNow{capacity}, departedAt{capacity}, values{size_t{capacity} * 40};
  DeviceArray<uint8_t> alive;
  std::vector<int32_t> expectedDeparted;
  int32_t checkpoint = 0;
  bool numbered = false; ///< whether outputs keep their numbers
};

} // namespace

TEST_F(CompactTest, MovesAreThoseOfTheCore) {
  for (int32_t rows : {1, 2, 31, 64, 257, 700})
    for (unsigned percent : {95u, 70u, 20u})
      for (Order order : {Order::Ascending, Order::Shuffled}) {
        // Widths of rows that can be moved 16 bytes at a time, and of others.
        width = width == 33 ? 40 : 33;
        begin(rows);
        kill(randomLives(percent), order);
      }
}

TEST_F(CompactTest, CheckpointsFollowOneAnother) {
  begin(300);
  for (int i = 0; i < 6 && !HasFatalFailure(); ++i)
    kill(randomLives(80), Order::Descending);
  EXPECT_LT(counts[0], 200);
}

TEST_F(CompactTest, NobodyDeadAndNobodyLeft) {
  begin(70);
  kill(std::vector<uint8_t>(70, 1), Order::Shuffled);
  EXPECT_EQ(counts[3], 0);
  kill(std::vector<uint8_t>(70, 0), Order::Shuffled);
  EXPECT_EQ(counts[0], 0);
  EXPECT_EQ(counts[1], 0);
  // A checkpoint without rows works, too.
  compact(Order::Ascending);
  EXPECT_EQ(counts[0], 0);
}

TEST_F(CompactTest, ThirtyTwoSlotsWithEightHolesMoveAtMostEight) {
  begin(32);
  std::vector<uint8_t> lives(32, 1);
  for (size_t i = 0; i < 32; i += 4)
    lives[i] = 0;
  kill(lives, Order::Ascending);
  // Six of the holes are below 24, and as many living rows are from 24 on.
  EXPECT_EQ(counts[3], 6);
}

TEST_F(CompactTest, NumberedOutputsStayUntilNobodyLives) {
  begin(70);
  int32_t outputs = counts[1];
  std::vector<int32_t> rows = outputRows.values();
  numbered = true;
  for (int32_t row = 0; row < 69; ++row)
    alive[size_t(row)] = 0;
  compact(Order::Shuffled);
  EXPECT_EQ(counts[0], 1);
  EXPECT_EQ(counts[1], outputs);
  EXPECT_EQ(outputRows.values(), rows);
  alive[69] = 0;
  compact(Order::Shuffled);
  EXPECT_EQ(counts[0], 0);
  EXPECT_EQ(counts[1], 0);
  EXPECT_EQ(departedAt[0], 1);
  EXPECT_EQ(departedAt[69], 2);
}
