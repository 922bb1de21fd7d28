//===- MathTest.cpp - accuracy of the polynomials -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reference.h"
#include "StepRunner.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace sluice;
using namespace sluice::test;

namespace {

/// Applies `op` to vectors of `lanes` numbers, lowered like row kernels.
class VectorFunction {
public:
  VectorFunction(const std::string &op, int64_t lanes) : lanes(lanes) {
    std::string vector = "vector<" + std::to_string(lanes) + "xf32>";
    std::string text =
        "func.func @apply(%from: !llvm.ptr, %to: !llvm.ptr) {\n"
        "%x = llvm.load %from {alignment = 4 : i64} : !llvm.ptr "
        "-> " +
        vector + "\n%y = " + op + " %x : " + vector +
        "\nllvm.store %y, %to {alignment = 4 : i64} : " + vector +
        ", !llvm.ptr\nreturn\n}\n";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        text, mlir::ParserConfig(&getContext()));
    jit = std::make_unique<Jit>(*module);
    function = jit->lookup<void(const float *, float *)>("apply");
  }

  float operator()(float x) const {
    Vector in(lanes, x), out(lanes);
    function(in.data(), out.data());
    return out[0];
  }

private:
  int64_t lanes;
  std::unique_ptr<Jit> jit;
  void (*function)(const float *, float *);
};

/// Returns the largest distance from `exact` in [-20, 20], in units of
/// `unit(exact)`.
template <typename Exact, typename Unit>
double worstError(const VectorFunction &function, Exact exact, Unit unit) {
  double worst = 0;
  for (int i = -200000; i <= 200000; ++i) {
    float x = i * 1e-4f;
    double wanted = exact(double(x));
    worst = std::max(worst, std::fabs(function(x) - wanted) / unit(wanted));
  }
  return worst;
}

/// Returns the distance of neighbouring floats at x.
double ulp(double x) {
  auto value = static_cast<float>(std::fabs(x));
  return std::nextafter(value, std::numeric_limits<float>::infinity()) - value;
}

double one(double) { return 1; }

TEST(Math, ErrorsAreWhatThePassSays) {
  for (int64_t lanes : {8, 16}) {
    VectorFunction exp("math.exp", lanes), tanh("math.tanh", lanes),
        erf("math.erf", lanes);
    auto exactExp = [](double x) { return std::exp(x); };
    auto exactTanh = [](double x) { return std::tanh(x); };
    auto exactErf = [](double x) { return std::erf(x); };
    double expError = worstError(exp, exactExp, ulp);
    double tanhError = worstError(tanh, exactTanh, ulp);
    double erfError = worstError(erf, exactErf, one);
    EXPECT_LE(expError, 1);
    EXPECT_LE(tanhError, 5);
    EXPECT_LE(erfError, 3e-7);
  }
}

// Far from 0 the functions reach their limits, and a NaN stays a NaN.
TEST(Math, Extremes) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (int64_t lanes : {8, 16}) {
    VectorFunction exp("math.exp", lanes), tanh("math.tanh", lanes),
        erf("math.erf", lanes);
    for (float x : {100.0f, 1000.0f, 3.0e38f, infinity}) {
      EXPECT_EQ(exp(x), infinity) << x;
      EXPECT_EQ(exp(-x), 0.0f) << x;
      EXPECT_EQ(tanh(x), 1.0f) << x;
      EXPECT_EQ(tanh(-x), -1.0f) << x;
      EXPECT_EQ(erf(x), 1.0f) << x;
      EXPECT_EQ(erf(-x), -1.0f) << x;
    }
    EXPECT_EQ(exp(0.0f), 1.0f);
    EXPECT_EQ(tanh(0.0f), 0.0f);
    EXPECT_EQ(erf(0.0f), 0.0f);
    float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(exp(nan)));
    EXPECT_TRUE(std::isnan(tanh(nan)));
    EXPECT_TRUE(std::isnan(erf(nan)));
  }
}

} // namespace
