//===- CopyBarriersTest.cpp - barriers and bulk copies in the emulator ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/emulator/CopyBarriers.h"

#include "runtime/device/cuda/emulator/Emulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;
using emulator::CopyBarriers;
using testing::HasSubstr;

namespace {

class CopyBarriersTest : public testing::Test {
protected:
  /// Returns whether the phase of that parity has ended.
  bool test(uint32_t parity) {
    bool ended = false;
    EXPECT_EQ(barriers.test(&barrier, parity, ended, copied), nullptr);
    return ended;
  }

  CopyBarriers barriers;
  alignas(8) uint64_t barrier = 0;
  alignas(16) uint8_t from[64] = {1, 2, 3};
  alignas(16) uint8_t to[64] = {};
  uint64_t copied = 0;
};

/// Returns the error of a launch in which one thread runs `body`.
std::string errorOf(const std::function<void()> &body) {
  emulator::LaunchOptions options;
  options.sharedBytes = 128;
  return emulator::launch(options,
                          [&] {
                            if (emulator::threadPosition().thread == 0)
                              body();
                          })
      .message();
}
constexpr auto here = std::source_location::current();

} // namespace

TEST_F(CopyBarriersTest, APhaseEndsWithItsLastArrival) {
  EXPECT_EQ(barriers.initialise(&barrier, 2), nullptr);
  // The phase before the first counts as ended.
  EXPECT_TRUE(test(1));
  EXPECT_FALSE(test(0));
  for (uint32_t phase : {0u, 1u, 0u}) {
    EXPECT_EQ(barriers.arrive(&barrier, 0), nullptr);
    EXPECT_FALSE(test(phase));
    EXPECT_EQ(barriers.arrive(&barrier, 0), nullptr);
    EXPECT_TRUE(test(phase));
    EXPECT_FALSE(test(phase ^ 1));
  }
}

TEST_F(CopyBarriersTest, ACopyIsMadeWhenItsPhaseIsWaitedFor) {
  EXPECT_EQ(barriers.initialise(&barrier, 1), nullptr);
  EXPECT_EQ(barriers.arrive(&barrier, 48), nullptr);
  EXPECT_EQ(barriers.copy(&barrier, to, from, 32), nullptr);
  EXPECT_EQ(to[0], 0xff);
  EXPECT_EQ(to[31], 0xff);
  EXPECT_EQ(to[32], 0);
  EXPECT_TRUE(barriers.hasOpenCopies());
  // Only a part of the expected bytes has come.
  EXPECT_FALSE(test(0));
  EXPECT_FALSE(barriers.hasOpenCopies());
  EXPECT_EQ(barriers.copy(&barrier, to + 32, from, 16), nullptr);
  EXPECT_TRUE(test(0));
  EXPECT_EQ(to[1], 2);
  EXPECT_EQ(to[33], 2);
  EXPECT_EQ(copied, 48u);
}

TEST_F(CopyBarriersTest, WhatIsWrongIsSaid) {
  bool ended = false;
  EXPECT_STREQ(barriers.arrive(&barrier, 0),
               "a barrier that is not initialised");
  EXPECT_STREQ(barriers.copy(&barrier, to, from, 16),
               "a barrier that is not initialised");
  EXPECT_STREQ(barriers.test(&barrier, 0, ended, copied),
               "a barrier that is not initialised");
  EXPECT_STREQ(barriers.initialise(from + 4, 1),
               "a barrier at an address that is not a multiple of 8");
  EXPECT_THAT(barriers.initialise(&barrier, 0), HasSubstr("no arrivals"));
  EXPECT_EQ(barriers.initialise(&barrier, 1), nullptr);
  EXPECT_THAT(barriers.test(&barrier, 2, ended, copied),
              HasSubstr("neither 0 nor 1"));
  for (auto [target, source, bytes] :
       {std::tuple{to + 8, from, 16u}, {to, from + 8, 16u}, {to, from, 8u}})
    EXPECT_THAT(barriers.copy(&barrier, target, source, bytes),
                HasSubstr("not multiples of 16"));
  EXPECT_THAT(barriers.arrive(&barrier, 1 << 20),
              HasSubstr("than a barrier can count"));
  EXPECT_EQ(barriers.initialise(&barrier, 1), nullptr);
  EXPECT_EQ(barriers.arrive(&barrier, 16), nullptr);
  EXPECT_STREQ(barriers.arrive(&barrier, 0),
               "more arrivals than a phase of the barrier has");
  EXPECT_EQ(barriers.copy(&barrier, to, from, 32), nullptr);
  EXPECT_STREQ(barriers.test(&barrier, 0, ended, copied),
               "more bytes have come than the phase of the barrier expects");
}

TEST(EmulatorBarrierTest, ALaunchFailsWithWhatIsWrong) {
  alignas(16) static uint8_t from[256];
  auto begin = [] {
    emulator::initialiseBarrier(emulator::sharedMemory(), 1, here);
  };
  auto copy = [&](size_t at) {
    emulator::copyBulk(emulator::sharedMemory(), emulator::sharedMemory() + at,
                       from, 64, here);
  };
  EXPECT_THAT(errorOf([&] {
                begin();
                copy(16);
              }),
              HasSubstr("bulk copies that nobody waited for"));
  EXPECT_THAT(errorOf([&] {
                begin();
                copy(80);
              }),
              HasSubstr("not the block's shared memory"));
  EXPECT_THAT(errorOf([&] { copy(16); }),
              HasSubstr("CopyBarriersTest.cpp:" + std::to_string(here.line()) +
                        ": a barrier that is not initialised"));
  // The barriers of a block end with it.
  emulator::LaunchOptions options;
  options.grid = {2, 1, 1};
  options.sharedBytes = 128;
  EXPECT_THAT(emulator::launch(options,
                               [&] {
                                 if (emulator::threadPosition().thread > 0)
                                   return;
                                 if (emulator::threadPosition().block.x == 0)
                                   begin();
                                 else
                                   emulator::arriveAtBarrier(
                                       emulator::sharedMemory(), 0, here);
                               })
                  .message(),
              HasSubstr("block (1,0,0)"));
}
