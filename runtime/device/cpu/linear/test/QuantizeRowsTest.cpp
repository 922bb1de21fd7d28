//===- QuantizeRowsTest.cpp - quantisation of rows of floats to 8 bits ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/linear/test/LinearTestUtils.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace sluice;
using namespace sluice::cpu;

using QuantizedRows = KernelTest;

TEST_F(QuantizedRows, EveryInstructionSetGivesTheSameBlocks) {
  std::mt19937 random(11);
  constexpr int64_t cols = 96, rows = 42;
  std::vector<float> x = randomFloats(random, size_t(rows * cols));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < cols; ++i)
      x[size_t(row * cols + i)] *= std::ldexp(1.0f, int(row * 6) - 120);
  x[5] = NAN;
  x[40] = -std::numeric_limits<float>::infinity();
  for (int i = 64; i < 96; ++i)
    x[size_t(i)] = i % 2 ? -0.0f : 0.0f;
  // Halves between integers; the largest number that counts as zero and the
  // next; the largest and the smallest floats.
  float *special = x.data() + 40 * cols;
  for (int i = 0; i < 32; ++i) {
    special[i] = i == 0 ? 127.0f : float(i - 16) + 0.5f;
    special[32 + i] = std::ldexp(i % 2 ? 0.5f : 0.999999f, -100);
    special[64 + i] = std::ldexp(i % 3 ? -0.5f : 1.0f, -100);
    special[96 + i] =
        std::numeric_limits<float>::max() / (i % 2 ? -1.0f : 3.0f);
    special[128 + i] = std::numeric_limits<float>::denorm_min();
    special[160 + i] = i == 7 ? -NAN : std::numeric_limits<float>::max();
  }
  std::vector<QuantizedBlock> expected(size_t(rows * cols / 32));
  quantizeReference(x.data(), expected.data(), int64_t(expected.size()));
  for (const LinearKernels *kernels : runnableKernels()) {
    std::vector<QuantizedBlock> blocks(expected.size());
    quantizeRows(*kernels, x.data(), blocks.data(), cols, 0, 7);
    quantizeRows(*kernels, x.data(), blocks.data(), cols, 7, rows);
    EXPECT_EQ(std::memcmp(blocks.data(), expected.data(),
                          blocks.size() * sizeof(QuantizedBlock)),
              0)
        << kernels->name;
  }
}

TEST_F(QuantizedRows, BlocksAreWhatTheHeaderSays) {
  std::mt19937 random(12);
  std::vector<float> x = randomFloats(random, 32 * 50);
  std::vector<QuantizedBlock> blocks(50);
  quantizeReference(x.data(), blocks.data(), 50);
  for (size_t b = 0; b < 50; ++b) {
    float largest = 0;
    int sum = 0, low = 0;
    for (size_t i = 0; i < 32; ++i) {
      largest = std::max(largest, std::fabs(x[32 * b + i]));
      sum += blocks[b].q[i];
      low += i < 16 ? blocks[b].q[i] : 0;
    }
    EXPECT_EQ(blocks[b].scale, largest / 127);
    EXPECT_EQ(blocks[b].negativeSum, -sum);
    EXPECT_EQ(blocks[b].negativeSumLow, -low);
    EXPECT_EQ(blocks[b].scaledSum, blocks[b].scale * float(sum));
    for (size_t i = 0; i < 32; ++i) {
      EXPECT_LE(std::abs(blocks[b].q[i]), 127);
      EXPECT_NEAR(float(blocks[b].q[i]) * blocks[b].scale, x[32 * b + i],
                  0.501f * blocks[b].scale);
    }
  }
}
