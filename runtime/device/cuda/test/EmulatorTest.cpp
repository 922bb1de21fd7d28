//===- EmulatorTest.cpp - mistakes of kernels that the emulator finds -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small correct kernels give the right result in every order of threads. Each
// mistake that the emulator can find is made once, and must be found.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Primitives.cuh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

using namespace sluice;
using namespace sluice::cuda;
using emulator::LaunchOptions;
using emulator::Order;
using testing::HasSubstr;

namespace {

constexpr Order orders[] = {Order::Ascending, Order::Descending,
                            Order::Shuffled};

LaunchOptions blockOf(uint32_t threads, size_t sharedBytes = 0) {
  LaunchOptions options;
  options.threads = threads;
  options.sharedBytes = sharedBytes;
  return options;
}

/// Computes out[i] = in[threads - 1 - i], through shared memory.
void reverse(const uint32_t *in, uint32_t *out, uint32_t threads,
             bool barrier) {
  auto *shared = reinterpret_cast<uint32_t *>(sharedMemory());
  uint32_t i = threadIndex();
  shared[i] = in[i];
  if (barrier)
    syncThreads();
  out[i] = shared[threads - 1 - i];
}

std::vector<uint32_t> numbers(uint32_t count) {
  std::vector<uint32_t> result(count);
  for (uint32_t i = 0; i < count; ++i)
    result[i] = i * 2654435761u;
  return result;
}

} // namespace

TEST(EmulatorTest, ABarrierHoldsInEveryOrderAndAMissingOneShows) {
  std::vector<uint32_t> in = numbers(96);
  std::vector<uint32_t> reversed(in.rbegin(), in.rend());
  for (bool barrier : {true, false})
    for (Order order : orders) {
      std::vector<uint32_t> out(96);
      LaunchOptions options = blockOf(96, 96 * 4);
      options.order = order;
      Status status = emulator::launch(
          options, [&] { reverse(in.data(), out.data(), 96, barrier); });
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(out == reversed, barrier);
    }
}

TEST(EmulatorTest, SharedMemoryStartsAsNaNsInEachBlock) {
  LaunchOptions options = blockOf(32, 128);
  options.grid = {3, 2, 2};
  int blocks = 0;
  Status status = emulator::launch(options, [&] {
    auto *shared = reinterpret_cast<uint32_t *>(sharedMemory());
    EXPECT_EQ(shared[threadIndex()], 0xffffffffu);
    shared[threadIndex()] = 0;
    blocks += threadIndex() == 0;
    EXPECT_EQ(gridX() * 100 + gridY() * 10 + gridZ(), 322u);
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(blocks, 12);
}

TEST(EmulatorTest, BlocksRunInAnyOrder) {
  std::vector<std::vector<uint32_t>> seen;
  for (Order order : orders) {
    LaunchOptions options = blockOf(32);
    options.grid = {8, 1, 1};
    options.order = order;
    seen.emplace_back();
    Status status = emulator::launch(options, [&] {
      if (threadIndex() == 0)
        seen.back().push_back(blockX());
    });
    EXPECT_TRUE(status.ok());
  }
  EXPECT_EQ(seen[0], (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(seen[1], (std::vector<uint32_t>{7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_NE(seen[2], seen[0]);
  EXPECT_THAT(seen[2], testing::UnorderedElementsAreArray(seen[0]));
}

TEST(EmulatorTest, ResidentBlocksTakeTurns) {
  for (uint32_t resident : {1u, 4u}) {
    uint32_t counter = 0, max = 0;
    LaunchOptions options = blockOf(32);
    options.grid = {4, 1, 1};
    options.resident = resident;
    Status status = emulator::launch(options, [&] {
      if (threadIndex() == 0)
        takeTicket(&counter);
      syncThreads();
      max = counter > max ? counter : max;
      syncThreads();
      if (threadIndex() == 0)
        --counter;
    });
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(max, resident);
  }
}

TEST(EmulatorTest, ShufflesAndVotesGiveEachLaneItsNumber) {
  for (Order order : orders) {
    LaunchOptions options = blockOf(64);
    options.order = order;
    Status status = emulator::launch(options, [&] {
      uint32_t lane = laneIndex();
      float mine = float(threadIndex());
      EXPECT_EQ(shuffleXor(mine, 5), float(threadIndex() ^ 5));
      EXPECT_EQ(shuffleFrom(threadIndex(), lane / 2),
                warpIndex() * 32 + lane / 2);
      EXPECT_EQ(voteOf(lane % 3 == 0), 0x49249249u);
      syncWarp();
    });
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(EmulatorTest, ThreadsCountTogetherInSharedMemory) {
  for (bool barrier : {true, false}) {
    bool allSeen = true;
    for (Order order : orders) {
      LaunchOptions options = blockOf(96, 3 * 4);
      options.order = order;
      Status status = emulator::launch(options, [&] {
        auto *counters = reinterpret_cast<uint32_t *>(sharedMemory());
        if (threadIndex() < 3)
          counters[threadIndex()] = 0;
        syncThreads();
        incrementShared(counters + bitCount(threadIndex() & 5));
        if (barrier)
          syncThreads();
        // Of 0 to 7, two numbers have neither bit, and two have both.
        allSeen &= counters[0] == 24 && counters[1] == 48 && counters[2] == 24;
      });
      ASSERT_TRUE(status.ok()) << status.message();
    }
    EXPECT_EQ(allSeen, barrier);
  }
}

TEST(EmulatorTest, ALaneThatStaysAwayFromAShuffleIsNamed) {
  Status status = emulator::launch(blockOf(64), [] {
    if (threadIndex() != 37)
      shuffleXor(1.0f, 1);
  });
  EXPECT_THAT(status.message(), HasSubstr("block (0,0,0): thread 32 waits in a "
                                          "shuffle at EmulatorTest.cpp:"));
  EXPECT_THAT(status.message(), HasSubstr(", but thread 37 has ended"));
}

TEST(EmulatorTest, CollectivesAtDifferentLinesDoNotMeet) {
  Status status = emulator::launch(blockOf(32), [] {
    if (threadIndex() < 16)
      shuffleXor(1.0f, 1);
    else
      shuffleXor(1.0f, 1);
  });
  EXPECT_THAT(status.message(), HasSubstr("but thread 16 waits in a shuffle"));
}

TEST(EmulatorTest, AThreadThatStaysAwayFromABarrierIsNamed) {
  Status status = emulator::launch(blockOf(64), [] {
    if (threadIndex() != 3)
      syncThreads();
  });
  EXPECT_THAT(status.message(), HasSubstr("thread 0 waits at the block's"));
  EXPECT_THAT(status.message(), HasSubstr(", but thread 3 has ended"));
}

TEST(EmulatorTest, CopiesComeWithTheWaitAndNotBefore) {
  alignas(16) uint32_t in[2][128];
  for (int i = 0; i < 256; ++i)
    in[i / 128][i % 128] = uint32_t(i);
  for (bool waits : {true, false}) {
    bool right = true;
    Status status = emulator::launch(blockOf(32, 1024), [&] {
      auto *shared = reinterpret_cast<uint32_t *>(sharedMemory());
      uint32_t at = threadIndex() * 4;
      copyAsync16(shared + at, &in[0][at]);
      copyAsyncCommit();
      copyAsync16(shared + 128 + at, &in[1][at]);
      copyAsyncCommit();
      if (waits)
        copyAsyncWait<1>();
      right = right && shared[at] == at && shared[at + 3] == at + 3;
      // The younger group has not arrived yet.
      EXPECT_EQ(shared[128 + at], 0xffffffffu);
      copyAsyncWait<0>();
      EXPECT_EQ(shared[128 + at], 128 + at);
    });
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(right, waits);
  }
}

TEST(EmulatorTest, CopiesThatNobodyWaitsForAreAnError) {
  alignas(16) uint32_t in[4] = {};
  Status status = emulator::launch(blockOf(32, 512), [&] {
    copyAsync16(sharedMemory() + 16 * threadIndex(), in);
    copyAsyncCommit();
  });
  EXPECT_THAT(status.message(), HasSubstr("copies that nobody waited for"));
}

TEST(EmulatorTest, MisalignedCopiesAreAnError) {
  alignas(16) uint32_t in[8] = {};
  Status status = emulator::launch(
      blockOf(32, 512), [&] { copyAsync16(sharedMemory(), in + 1); });
  EXPECT_THAT(status.message(), HasSubstr("thread 0 at EmulatorTest.cpp"));
  EXPECT_THAT(status.message(), HasSubstr("not a multiple of 16"));
}

static bool writesBehindTheEnd() {
  return emulator::launch(blockOf(32, 128),
                          [] { sharedMemory()[128 + threadIndex()] = 1; })
             .message()
             .find("written behind its end, at 128") != std::string::npos;
}

TEST(EmulatorTest, WritingBehindSharedMemoryIsAnError) {
  EXPECT_TRUE(writesBehindTheEnd());
}

#if __has_feature(address_sanitizer)
TEST(EmulatorDeathTest, ReadingBehindAnArrayIsSeen) {
  std::vector<uint32_t> in(31);
  EXPECT_DEATH((void)emulator::launch(blockOf(32),
                                      [&] {
                                        volatile uint32_t x =
                                            in.data()[threadIndex()];
                                        (void)x;
                                      }),
               "heap-buffer-overflow");
}
#endif

TEST(EmulatorTest, TheKernelBeforeIsLate) {
  for (bool waits : {true, false}) {
    uint32_t before = 0;
    int right = 0;
    LaunchOptions options = blockOf(64);
    options.grid = {2, 1, 1};
    options.prior = [&](bool ready) { before = ready ? 7 : 0; };
    Status status = emulator::launch(options, [&] {
      launchDependents();
      if (waits)
        waitForPrior();
      right += before == 7;
    });
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(right, waits ? 128 : 0);
  }
}

TEST(EmulatorTest, ProductsAreThoseOfMatrices) {
  // a[16][16] and b[16][8] have small integers, whose sums are exact.
  auto a = [](int row, int k) { return float((row * 7 + k * 3) % 11 - 5); };
  auto b = [](int k, int col) { return float((k * 5 + col * 2) % 13 - 6); };
  alignas(16) static uint16_t aBits[16][16], bBits[8][16], bTurned[16][8];
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 16; ++k) {
      aBits[i][k] = floatToHalf(a(i, k));
      if (i < 8)
        bTurned[k][i] = bBits[i][k] = floatToHalf(b(k, i));
    }
  Status status = emulator::launch(blockOf(32), [&] {
    uint32_t lane = laneIndex(), x[4], y[4], z[4];
    loadMatrix4(x, &aBits[lane % 16][lane / 16 * 8]);
    loadMatrix4(y, &bBits[lane % 8][lane / 8 % 2 * 8]);
    loadMatrix4Transposed(z, bTurned[lane % 16]);
    EXPECT_EQ(y[0], z[0]);
    EXPECT_EQ(y[1], z[1]);
    float d[4] = {1, 1, 1, 1}, e[4] = {};
    multiplyF16(d, x, y[0], y[1]);
    // The bits of halves are not exact numbers of bf16; those of ones are.
    uint32_t ones[4] = {0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80};
    multiplyBF16(e, ones, 0x3f803f80, 0x40004000);
    for (int i = 0; i < 4; ++i) {
      int row = int(lane / 4) + 8 * (i / 2), col = int(lane % 4) * 2 + i % 2;
      float sum = 1;
      for (int k = 0; k < 16; ++k)
        sum += a(row, k) * b(k, col);
      EXPECT_EQ(d[i], sum);
      EXPECT_EQ(e[i], 24);
    }
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(EmulatorTest, BytesAndHalvesAsTheDeviceHasThem) {
  EXPECT_EQ(permuteBytes(0x33221100, 0x77665544, 0x7250), 0x77225500u);
  EXPECT_EQ(subtractHalves(packHalves(1032, 1), packHalves(1024, 3)),
            packHalves(8, -2));
  EXPECT_EQ(multiplyAddHalves(packHalves(1024 + 16 * 7, 3),
                              packHalves(0.0625f, 2), packHalves(-64, 1)),
            packHalves(7, 7));
  EXPECT_EQ(maskInto(0x12345678, 0x000f000f, 0x64006400), 0x64046408u);
  EXPECT_EQ(packBfloats(1, 2), 0x40003f80u);
}

TEST(EmulatorTest, BlocksOfHalfAWarpAreRefused) {
  EXPECT_THAT(emulator::launch(blockOf(48), [] {}).message(),
              HasSubstr("48 threads"));
}
