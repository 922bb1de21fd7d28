//===- RandomTest.cpp - random numbers match the paper's ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Random.h"

#include <gtest/gtest.h>
#include <set>

using namespace sluice;

namespace {

// The known answers are those of the authors' Random123 library.
TEST(RandomTest, KnownAnswers) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                   {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomTest, NoiseDiffersByEveryPartOfItsPlace) {
  std::set<std::array<uint32_t, 4>> seen;
  for (uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32})
    for (int64_t position : {int64_t{0}, int64_t{1}, int64_t{1} << 32})
      for (uint32_t group : {0u, 1u, 2u})
        EXPECT_TRUE(seen.insert(tokenNoise(seed, position, group)).second);
  EXPECT_EQ(tokenNoise(3, 4, 5), tokenNoise(3, 4, 5));
}

} // namespace
