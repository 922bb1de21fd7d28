//===- ProbeKernelsTest.cpp - the probe's kernels and their primitives ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/probe/ProbeKernels.h"
#include "runtime/device/cuda/probe/ProbePrimitives.cuh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::probe;
using emulator::LaunchOptions;
using emulator::Order;
using testing::HasSubstr;

namespace {

LaunchOptions gridOf(uint32_t blocks, int32_t threads, int32_t sharedBytes,
                     Order order = Order::Ascending) {
  LaunchOptions options;
  options.grid = {blocks, 1, 1};
  options.threads = uint32_t(threads);
  options.sharedBytes = size_t(sharedBytes);
  options.order = order;
  options.resident = blocks;
  return options;
}

/// Launches the barrier's kernel. Returns how many barriers each block has
/// passed.
std::vector<int32_t> passBarriers(GridBarrierArguments arguments,
                                  uint32_t blocks, Order order, int launches) {
  uint32_t counter = 0;
  std::vector<uint32_t> slots(2 * size_t(arguments.blocks));
  std::vector<int32_t> passed(blocks, -1);
  std::vector<int32_t> wrong(blocks * size_t{gridBarrierThreads}, -1);
  arguments.counter = &counter;
  arguments.slots = slots.data();
  arguments.passed = passed.data();
  arguments.wrong = wrong.data();
  for (int i = 0; i < launches; ++i) {
    Status status = emulator::launch(
        gridOf(blocks, gridBarrierThreads, gridBarrierSharedBytes, order),
        [&] { sluice_probe_grid_barrier(arguments); });
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(std::accumulate(wrong.begin(), wrong.end(), 0), 0);
  }
  return passed;
}

} // namespace

TEST(ProbeKernelsTest, BlocksPassABarrierTogether) {
  GridBarrierArguments arguments = {};
  arguments.spins = 1 << 20;
  arguments.rounds = 5;
  arguments.blocks = 3;
  // Launches twice: the counter goes on.
  for (Order order : {Order::Ascending, Order::Descending, Order::Shuffled})
    EXPECT_EQ(passBarriers(arguments, 3, order, 2), std::vector<int32_t>(3, 5));
}

TEST(ProbeKernelsTest, ABarrierThatOneIsMissingFromGivesUp) {
  GridBarrierArguments arguments = {};
  arguments.spins = 100;
  arguments.rounds = 5;
  arguments.blocks = 3;
  EXPECT_EQ(passBarriers(arguments, 2, Order::Ascending, 1),
            std::vector<int32_t>(2, 0));
}

TEST(ProbeKernelsTest, StreamsReadEachPieceOnceInEveryOrder) {
  constexpr int32_t pieces = 7;
  constexpr size_t words = pieces * size_t{asyncPieceBytes} / 4;
  auto *memory = static_cast<uint32_t *>(std::aligned_alloc(16, words * 4));
  std::iota(memory, memory + words, 0);
  for (Order order : {Order::Ascending, Order::Descending, Order::Shuffled})
    for (bool isBulk : {false, true}) {
      std::vector<uint64_t> sums(2 * bulkWarps);
      StreamArguments arguments = {};
      arguments.from = reinterpret_cast<const uint8_t *>(memory);
      arguments.sums = sums.data();
      arguments.pieceBytes = 4096;
      arguments.stages = 3;
      arguments.pieces =
          isBulk ? pieces * asyncPieceBytes / arguments.pieceBytes : pieces;
      arguments.blockStride = 1;
      arguments.pieceStride = 2;
      arguments.piecesOfBlock = arguments.pieces;
      const int32_t sharedBytes =
          isBulk ? bulkSharedBytes(arguments.pieceBytes, arguments.stages)
                 : asyncSharedBytes(4);
      Status status = emulator::launch(
          gridOf(2, isBulk ? bulkThreads : asyncThreads, sharedBytes, order),
          [&] {
            isBulk ? sluice_probe_stream_bulk(arguments)
                   : sluice_probe_stream_async_4(arguments);
          });
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), uint64_t{0}),
                words * (words - 1) / 2);
    }
  std::free(memory);
}

TEST(ProbePrimitivesTest, DescriptorsHaveTheHardwaresFields) {
  Status status = emulator::launch(gridOf(1, 32, 4096), [] {
    EXPECT_EQ(matrixDescriptor(sharedMemory() + 2048, 128, 256),
              uint64_t{2048 / 16} | uint64_t{128 / 16} << 16 |
                  uint64_t{256 / 16} << 32);
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(ProbePrimitivesTest, ProductsAreThereWhenTheyAreFinished) {
  // A is 1 everywhere, and column c of B is c.
  Status status = emulator::launch(gridOf(1, 128, 2048), [] {
    auto *b = reinterpret_cast<uint16_t *>(sharedMemory());
    for (uint32_t i = threadIndex(); i < 128; i += 128)
      b[i] = floatToHalf(float((i >> 3) % 8));
    fenceAsyncProxy();
    syncThreads();
    uint32_t ones[4] = {0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00};
    float d[4] = {1, 1, 1, 1};
    MatrixProducts products;
    products.begin(d);
    products.add<false>(d, ones, matrixDescriptor(b, 128, 256));
    EXPECT_NE(d[0], d[0]);
    products.add<false>(d, ones, matrixDescriptor(b, 128, 256));
    products.finish(d);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(d[i], 1 + 32 * float(laneIndex() % 4 * 2 + i % 2));
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(ProbePrimitivesTest, ProductsWithoutAFenceAreAnError) {
  auto errorOf = [](bool begins, int count) {
    return emulator::launch(gridOf(1, 128, 2048),
                            [=] {
                              float d[4] = {};
                              MatrixProducts products;
                              if (begins)
                                products.begin(d);
                              for (int i = 0; i < count; ++i)
                                products.add<true>(d, 0, 0);
                              if (begins)
                                products.begin(d);
                            })
        .message();
  };
  EXPECT_THAT(errorOf(false, 1), HasSubstr("no fence stands before"));
  EXPECT_THAT(errorOf(true, 9), HasSubstr("more products in flight"));
  EXPECT_THAT(errorOf(true, 1), HasSubstr("while others are in flight"));
}
