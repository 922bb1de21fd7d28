//===- AttentionExpTest.cpp - the error of the vector functions -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/attention/Attention.h"
#include "runtime/device/cpu/attention/test/RunnableKernels.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace sluice;
using namespace sluice::cpu;

namespace {

class AttentionExpTest : public testing::TestWithParam<Isa> {
protected:
  void SetUp() override {
    if (!requireIsa("avx2").ok())
      GTEST_SKIP() << "this CPU lacks avx2";
    kernels = &runnableKernels(GetParam());
  }

  const AttentionKernels *kernels = nullptr;
};

/// Returns floats of either sign up to the given sizes, a prime stride of bits
/// apart.
std::vector<float> samples(float maxNegative, float maxPositive) {
  std::vector<float> x;
  for (float sign : {-1.0f, 1.0f}) {
    uint32_t end =
        std::bit_cast<uint32_t>(sign < 0 ? maxNegative : maxPositive);
    for (uint32_t bits = 0; bits < end; bits += 997)
      x.push_back(sign * std::bit_cast<float>(bits));
  }
  x.resize((x.size() + 15) / 16 * 16);
  return x;
}

TEST_P(AttentionExpTest, ExpIsWithinItsError) {
  std::vector<float> x = samples(87.3f, 88.0f);
  std::vector<float> y(x.size());
  kernels->exp(x.data(), y.data(), static_cast<int64_t>(x.size()));
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double exact = std::exp(static_cast<double>(x[i]));
    float near = static_cast<float>(exact);
    double unit = static_cast<double>(std::nextafter(near, HUGE_VALF)) - near;
    worst = std::max(worst, std::abs(y[i] - exact) / unit);
  }
  EXPECT_LT(worst, 1.5) << "units in the last place";
}

TEST_P(AttentionExpTest, ExpAtTheEdges) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x(16), y(16);
  x[0] = 0;
  x[1] = -0.0f;
  x[2] = -infinity;
  x[3] = -87.4f;
  x[4] = -1e30f;
  x[5] = std::nanf("");
  x[6] = -87.3f;
  kernels->exp(x.data(), y.data(), 16);
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 1);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 0);
  EXPECT_EQ(y[4], 0);
  EXPECT_TRUE(std::isnan(y[5]));
  EXPECT_GT(y[6], 0);
}

TEST_P(AttentionExpTest, TanhIsWithinItsError) {
  std::vector<float> x = samples(100, 100);
  std::vector<float> y(x.size());
  kernels->tanh(x.data(), y.data(), static_cast<int64_t>(x.size()));
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double exact = std::tanh(static_cast<double>(x[i]));
    // Subnormal numbers have no meaningful relative error.
    if (std::abs(x[i]) < std::numeric_limits<float>::min())
      EXPECT_EQ(y[i], x[i]);
    else
      worst = std::max(worst, std::abs(y[i] / exact - 1));
  }
  EXPECT_LT(worst, 5e-7);
}

INSTANTIATE_TEST_SUITE_P(Isas, AttentionExpTest,
                         testing::Values(Isa::Avx2, Isa::Avx512),
                         [](const auto &info) {
                           return std::string(isaName(info.param));
                         });

} // namespace
