//===- LinearTest.cpp - compares every kernel with the reference ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One suite covers all instruction sets, formats and shapes. Products of blocks
// are exact integers and every kernel adds them up in the same order, so
// results must agree bit for bit.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/linear/test/LinearTestUtils.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <thread>

using namespace sluice;
using namespace sluice::cpu;

namespace {

class LinearTest : public KernelTest, public testing::WithParamInterface<int> {
protected:
  Format format() const { return Format(GetParam()); }

  LinearSpec spec(int64_t outFeatures, int64_t inFeatures) const {
    return {outFeatures, inFeatures, format(), format(), false};
  }

  /// Returns input sizes that exercise partial groups and steps of the format.
  std::vector<int64_t> inputSizes() const {
    switch (formatInfo(format()).blockElements) {
    case 1:
      return {1, 7, 64, 131};
    case 32:
      return {32, 64, 96, 352};
    case 128:
      return {128, 384};
    default:
      return {256, 768};
    }
  }

  std::mt19937 random{unsigned(GetParam()) + 1};
};

std::vector<int64_t> rowCounts() {
  std::vector<int64_t> counts;
  for (int64_t rows = 1; rows <= 17; ++rows)
    counts.push_back(rows);
  counts.push_back(64);
  return counts;
}

std::string formatName(const testing::TestParamInfo<int> &info) {
  return std::string(formatInfo(Format(info.param)).name);
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Formats, LinearTest, testing::Range(0, formatCount),
                         formatName);

TEST_P(LinearTest, EveryInstructionSetMatchesTheReferenceBitForBit) {
  for (int64_t out : {1, 15, 16, 17, 33, 130})
    for (int64_t in : inputSizes()) {
      TestWeight weight(random, spec(out, in));
      PackedWeight packed = weight.packed();
      TestRows x(random, packed.kind, 64, in);
      std::vector<float> bias = randomFloats(random, size_t(out));
      std::vector<float> expected(size_t(64 * out));
      linearReference(weight.spec, weight.stored.data(), x.from(0), bias.data(),
                      expected.data(), 64);
      for (const LinearKernels *kernels : runnableKernels())
        for (int64_t rows : rowCounts()) {
          std::vector<float> y =
              runLinear(*kernels, packed, x.from(0), bias.data(), rows);
          std::vector<float> first(expected.begin(),
                                   expected.begin() + rows * out);
          ASSERT_TRUE(sameBits(y, first))
              << describe(kernels, weight.spec, rows);
        }
    }
}

/// These operands bring sums of products that are kept in 16 bits closest to
/// their bounds.
TEST_P(LinearTest, ExtremeQuantsAndActivationsAreExact) {
  int64_t in = inputSizes().back(), out = 33, rows = 64;
  for (uint8_t quants : {0x00, 0x7f, 0x80, 0xff}) {
    TestWeight weight(random, spec(out, in), quants);
    // Activations have one sign, or signs by a bit of the feature's number.
    for (int64_t bit : {0, 1, 2, 4, 8}) {
      std::vector<float> ones;
      for (int64_t i = 0; i < rows * in; ++i)
        ones.push_back((i / in + (bit ? i % in / bit : 0)) % 2 ? -1 : 1);
      TestRows x(weight.packed().kind, in, ones);
      std::vector<float> expected(size_t(rows * out));
      linearReference(weight.spec, weight.stored.data(), x.from(0), nullptr,
                      expected.data(), rows);
      for (const LinearKernels *kernels : runnableKernels())
        for (int64_t count : {int64_t(1), int64_t(17), rows}) {
          std::vector<float> first(expected.begin(),
                                   expected.begin() + count * out);
          ASSERT_TRUE(sameBits(
              runLinear(*kernels, weight.packed(), x.from(0), nullptr, count),
              first))
              << describe(kernels, weight.spec, count) << " quants of "
              << int(quants) << " signs by " << bit;
        }
    }
  }
}

TEST_P(LinearTest, WithoutBiasNothingIsAdded) {
  int64_t in = inputSizes().back(), out = 19, rows = 5;
  TestWeight weight(random, spec(out, in));
  TestRows x(random, weight.packed().kind, rows, in);
  std::vector<float> expected(size_t(rows * out));
  linearReference(weight.spec, weight.stored.data(), x.from(0), nullptr,
                  expected.data(), rows);
  for (const LinearKernels *kernels : runnableKernels())
    EXPECT_TRUE(
        sameBits(runLinear(*kernels, weight.packed(), x.from(0), nullptr, rows),
                 expected))
        << describe(kernels, weight.spec, rows);
}

TEST_P(LinearTest, ARowIsTheSameAloneInABatchAndOnManyThreads) {
  int64_t in = inputSizes().back(), out = 150, rows = 64;
  TestWeight weight(random, spec(out, in));
  PackedWeight packed = weight.packed();
  TestRows x(random, packed.kind, rows, in);
  for (const LinearKernels *kernels : runnableKernels()) {
    std::vector<float> alone;
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<float> y =
          runLinear(*kernels, packed, x.from(row), nullptr, 1);
      alone.insert(alone.end(), y.begin(), y.end());
    }
    for (int64_t threads : {1, 2, 3, 5, 16, 40})
      EXPECT_TRUE(sameBits(
          runLinear(*kernels, packed, x.from(0), nullptr, rows, threads),
          alone))
          << describe(kernels, weight.spec, rows) << " threads " << threads;
    // The rows are also computed in chunks, like a prompt, so that each has
    // another place in a tile.
    for (int64_t chunk : {3, 7, 13}) {
      std::vector<float> chunked;
      for (int64_t row = 0; row < rows; row += chunk) {
        std::vector<float> y = runLinear(*kernels, packed, x.from(row), nullptr,
                                         std::min(chunk, rows - row), 2);
        chunked.insert(chunked.end(), y.begin(), y.end());
      }
      EXPECT_TRUE(sameBits(chunked, alone))
          << describe(kernels, weight.spec, rows) << " chunks of " << chunk;
    }
  }
}

/// Computes the product three times, by threads that run concurrently and go
/// from one product to the next without a barrier.
static void expectSharedProducts(const LinearKernels &kernels,
                                 const TestWeight &weight, const TestRows &x,
                                 const std::vector<float> &expected,
                                 int64_t rows, int64_t threads) {
  constexpr uint32_t products = 3;
  PackedWeight packed = weight.packed();
  std::vector<std::vector<float>> y(
      products, std::vector<float>(expected.size(), untouched));
  Tickets tickets;
  std::vector<std::thread> team;
  for (int64_t thread = 0; thread < threads; ++thread)
    team.emplace_back([&, thread] {
      std::vector<uint8_t> scratch(size_t(linearScratchBytes(kernels, packed)));
      for (uint32_t loop = 0; loop < products; ++loop)
        linear(kernels, packed, x.from(0), nullptr, y[loop].data(), rows,
               {thread, threads, scratch.data(), tickets, loop});
    });
  for (std::thread &each : team)
    each.join();
  for (const std::vector<float> &each : y)
    EXPECT_TRUE(sameBits(each, expected))
        << describe(&kernels, weight.spec, rows) << " threads " << threads;
}

/// Some weights are so wide that their last panels go by tickets, others so
/// narrow that threads get some of the rows.
TEST_P(LinearTest, ThreadsShareProductsInAnyOrder) {
  struct Case {
    int64_t out, rows;
    std::vector<int64_t> threads;
  };
  int64_t in = inputSizes().back();
  for (const Case &each :
       {Case{16 * 400 + 5, 1, {2, 3}}, Case{16 * 400 + 5, 9, {2, 3}},
        Case{33, 64, {5, 16}}}) {
    TestWeight weight(random, spec(each.out, in));
    TestRows x(random, weight.packed().kind, each.rows, in);
    std::vector<float> expected(size_t(each.rows * each.out));
    linearReference(weight.spec, weight.stored.data(), x.from(0), nullptr,
                    expected.data(), each.rows);
    for (const LinearKernels *kernels : runnableKernels())
      for (int64_t threads : each.threads) {
        expectSharedProducts(*kernels, weight, x, expected, each.rows, threads);
        EXPECT_TRUE(sameBits(runLinear(*kernels, weight.packed(), x.from(0),
                                       nullptr, each.rows, threads),
                             expected))
            << describe(kernels, weight.spec, each.rows) << " threads "
            << threads;
      }
  }
}

TEST_P(LinearTest, WeightsAskedForInEitherWayGiveTheSame) {
  int64_t in = inputSizes().back(), out = 150;
  TestWeight weight(random, spec(out, in));
  TestRows x(random, weight.packed().kind, 2, in);
  std::vector<float> expected(size_t(2 * out)), y(expected);
  linearReference(weight.spec, weight.stored.data(), x.from(0), nullptr,
                  expected.data(), 2);
  for (const LinearKernels *kernels : runnableKernels()) {
    std::vector<uint8_t> scratch(
        size_t(linearScratchBytes(*kernels, weight.packed())));
    for (bool past : {false, true}) {
      std::fill(y.begin(), y.end(), untouched);
      LinearTask task = {weight.packed(),
                         0,
                         panelCount(out),
                         x.from(0),
                         nullptr,
                         y.data(),
                         scratch.data(),
                         0,
                         2,
                         past};
      kernels->run[int(task.weight.kind)](task);
      EXPECT_TRUE(sameBits(y, expected)) << describe(kernels, weight.spec, 2);
    }
  }
}

TEST_P(LinearTest, SomeColumnsAreThoseOfTheWhole) {
  int64_t in = inputSizes().back();
  for (int64_t out : {16, 150}) {
    TestWeight weight(random, spec(out, in));
    PackedWeight packed = weight.packed();
    for (const LinearKernels *kernels : runnableKernels())
      for (int64_t rows : {1, 5, 33}) {
        TestRows x(random, packed.kind, rows, in);
        std::vector<float> bias = randomFloats(random, size_t(out));
        std::vector<float> whole =
            runLinear(*kernels, packed, x.from(0), bias.data(), rows);
        for (int64_t first = 0; first <= panelCount(out); ++first)
          for (int64_t last = first; last <= panelCount(out); ++last) {
            int64_t begin = std::min(out, first * panelColumns);
            int64_t end = std::min(out, last * panelColumns);
            std::vector<float> part =
                runLinear(*kernels, columnsOf(packed, begin, end), x.from(0),
                          bias.data() + begin, rows, 1 + last % 3);
            std::vector<float> expected;
            for (int64_t row = 0; row < rows; ++row)
              expected.insert(expected.end(), whole.begin() + row * out + begin,
                              whole.begin() + row * out + end);
            ASSERT_TRUE(sameBits(part, expected))
                << describe(kernels, weight.spec, rows) << " columns " << begin
                << " to " << end;
          }
      }
  }
}

TEST_P(LinearTest, NothingBeyondTheResultAndTheScratchIsWritten) {
  constexpr uint8_t untouchedByte = 0xa5;
  int64_t in = inputSizes().front(), out = 33;
  TestWeight weight(random, spec(out, in));
  PackedWeight packed = weight.packed();
  for (int64_t rows : {3, 24}) {
    TestRows x(random, packed.kind, rows, in);
    for (const LinearKernels *kernels : runnableKernels()) {
      auto scratchBytes = size_t(linearScratchBytes(*kernels, packed));
      std::vector<float> y(size_t(rows * out) + 32, untouched);
      std::vector<uint8_t> scratch(scratchBytes + 128, untouchedByte);
      Tickets tickets;
      linear(*kernels, packed, x.from(0), nullptr, y.data(), rows,
             {0, 1, scratch.data(), tickets, 0});
      for (size_t i = size_t(rows * out); i < y.size(); ++i)
        EXPECT_EQ(y[i], untouched) << describe(kernels, weight.spec, rows);
      for (size_t i = scratchBytes; i < scratch.size(); ++i)
        EXPECT_EQ(scratch[i], untouchedByte)
            << describe(kernels, weight.spec, rows);
    }
  }
}

TEST_P(LinearTest, IsCloseToTheProductOfTheValues) {
  int64_t in = 512, out = 24, rows = 4;
  TestWeight weight(random, spec(out, in));
  TestRows x(random, weight.packed().kind, rows, in);
  const LinearKernels *kernels = runnableKernels().back();
  std::vector<float> y =
      runLinear(*kernels, weight.packed(), x.from(0), nullptr, rows);
  std::vector<float> values(size_t(out * in));
  dequantizeRow(format(), weight.stored.data(), values.data(), out * in);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t o = 0; o < out; ++o) {
      double sum = 0, size = 0;
      for (int64_t k = 0; k < in; ++k) {
        double term = double(values[size_t(o * in + k)]) *
                      double(x.floats[size_t(r * in + k)]);
        sum += term;
        size += std::abs(term);
      }
      // An activation is off by at most half a step, 1/254 of its block's
      // largest. The errors are independent, so their sum stays far below the
      // bound.
      double tolerance =
          takesQuantizedRows(weight.packed().kind) ? 0.01 * size : 1e-6 * size;
      EXPECT_NEAR(y[size_t(r * out + o)], sum, tolerance);
    }
}

TEST_P(LinearTest, ABadRowIsItsOwnTrouble) {
  int64_t in = inputSizes().back(), out = 20, rows = 9, bad = 4;
  TestWeight weight(random, spec(out, in));
  PackedWeight packed = weight.packed();
  for (const LinearKernels *kernels : runnableKernels())
    for (float value : {NAN, std::numeric_limits<float>::infinity()}) {
      TestRows x(random, packed.kind, rows, in);
      std::vector<float> good =
          runLinear(*kernels, packed, x.from(0), nullptr, rows);
      x.floats[size_t(bad * in + in / 2)] = value;
      if (takesQuantizedRows(packed.kind))
        quantizeRows(*kernels, x.floats.data(), x.blocks.data(), in, 0, rows);
      std::vector<float> y =
          runLinear(*kernels, packed, x.from(0), nullptr, rows);
      for (int64_t i = 0; i < rows * out; ++i) {
        if (i / out == bad)
          EXPECT_FALSE(std::isfinite(y[size_t(i)]));
        else
          EXPECT_EQ(y[size_t(i)], good[size_t(i)]);
      }
    }
}

using LinearConversion = KernelTest;

TEST_F(LinearConversion, StoredAsOneFormatComputedInAnother) {
  std::mt19937 random(7);
  const Format plain[] = {Format::F32, Format::F16, Format::BF16};
  const Format targets[] = {Format::F32,  Format::F16,  Format::BF16,
                            Format::Q8_0, Format::Q4_0, Format::E4M3};
  for (Format stored : plain)
    for (Format format : targets)
      for (bool transposed : {false, true}) {
        LinearSpec spec = {37, 128, stored, format, transposed};
        TestWeight weight(random, spec);
        PackedWeight packed = weight.packed();
        TestRows x(random, packed.kind, 3, 128);
        std::vector<float> expected(size_t(3 * 37));
        linearReference(spec, weight.stored.data(), x.from(0), nullptr,
                        expected.data(), 3);
        for (const LinearKernels *kernels : runnableKernels())
          EXPECT_TRUE(sameBits(
              runLinear(*kernels, packed, x.from(0), nullptr, 3), expected))
              << describe(kernels, spec, 3);
      }
}

using LinearScratch = KernelTest;

/// Quants are split up to the length at which a panel's split quants fit the
/// cache.
TEST_F(LinearScratch, LongWeightsAreNotSplitAndGiveTheSame) {
  std::mt19937 random(8);
  constexpr int64_t out = 33, rows = 20, split = 7680, tooLong = 7936;
  for (int64_t in : {split, tooLong}) {
    TestWeight weight(random, {out, in, Format::Q8_0, Format::Q8_0, false});
    PackedWeight packed = weight.packed();
    EXPECT_EQ(linearScratchBytes(*linearKernels("avx2"), packed) > 0,
              in == split);
    TestRows x(random, packed.kind, rows, in);
    std::vector<float> expected(size_t(rows * out));
    linearReference(weight.spec, weight.stored.data(), x.from(0), nullptr,
                    expected.data(), rows);
    for (const LinearKernels *kernels : runnableKernels())
      EXPECT_TRUE(sameBits(
          runLinear(*kernels, packed, x.from(0), nullptr, rows), expected))
          << describe(kernels, weight.spec, rows);
  }
}

/// Floats are widened up to the length at which the panels of f32 fit their
/// bound, which is 768 KiB for the largest kernels.
TEST_F(LinearScratch, FloatsOf8BitsAreWidenedForManyRowsAndGiveTheSame) {
  std::mt19937 random(9);
  constexpr int64_t out = 50, rows = 20, longest = 6144, tooLong = 6272;
  for (int64_t in : {int64_t(128), longest, tooLong}) {
    TestWeight weight(random, {out, in, Format::E4M3, Format::E4M3, false});
    PackedWeight packed = weight.packed();
    EXPECT_EQ(linearScratchBytes(*linearKernels("avx512vnni"), packed) > 0,
              in < tooLong);
    TestRows x(random, packed.kind, rows, in);
    std::vector<float> expected(size_t(rows * out));
    linearReference(weight.spec, weight.stored.data(), x.from(0), nullptr,
                    expected.data(), rows);
    for (const LinearKernels *kernels : runnableKernels()) {
      std::vector<float> y(size_t(rows * out));
      auto scratchBytes = size_t(linearScratchBytes(*kernels, packed));
      std::vector<uint8_t> scratch(scratchBytes + 128, 0xa5);
      Tickets tickets;
      linear(*kernels, packed, x.from(0), nullptr, y.data(), rows,
             {0, 1, scratch.data(), tickets, 0});
      EXPECT_TRUE(sameBits(y, expected))
          << describe(kernels, weight.spec, rows);
      EXPECT_EQ(std::count(scratch.begin() + int64_t(scratchBytes),
                           scratch.end(), 0xa5),
                128);
    }
  }
}

using LinearShares = KernelTest;

/// Checks what one of two threads leaves, and what it takes when the other one
/// is late.
TEST_F(LinearShares, TheLastPanelsOfWideWeightsGoToWhoeverComesFree) {
  std::mt19937 random(10);
  constexpr int64_t in = 1024, narrow = 256, wide = 4096;
  for (int64_t out : {narrow, wide}) {
    TestWeight weight(random, {out, in, Format::Q8_0, Format::Q8_0, false});
    PackedWeight packed = weight.packed();
    for (int64_t rows : {1, 24}) {
      TestRows x(random, packed.kind, rows, in);
      for (const LinearKernels *kernels : runnableKernels()) {
        std::vector<float> y(size_t(rows * out), untouched);
        std::vector<uint8_t> scratch(
            size_t(linearScratchBytes(*kernels, packed)));
        Tickets tickets;
        linear(*kernels, packed, x.from(0), nullptr, y.data(), rows,
               {0, 2, scratch.data(), tickets, 0});
        int64_t own = out == wide ? out * 3 / 8 : out / 2;
        int64_t others = out == wide ? out * 3 / 4 : out;
        for (int64_t i = 0; i < rows * out; ++i) {
          int64_t column = i % out;
          EXPECT_EQ(y[size_t(i)] != untouched, column < own || column >= others)
              << describe(kernels, weight.spec, rows) << " column " << column;
        }
      }
    }
  }
}

TEST(LinearKernels, AreFoundByName) {
  for (const char *name : {"avx2", "avx512", "avx512vnni"}) {
    ASSERT_NE(linearKernels(name), nullptr);
    EXPECT_STREQ(linearKernels(name)->name, name);
  }
  EXPECT_EQ(linearKernels("neon"), nullptr);
}
