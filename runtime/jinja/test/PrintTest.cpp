//===- PrintTest.cpp - tests of numbers as Python prints them -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The expected texts are those of CPython's repr().
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/Print.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace sluice::text::jinja;

namespace {

TEST(Print, Floats) {
  const std::pair<double, std::string> table[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {-1.5, "-1.5"},
      {0.1 + 0.2, "0.30000000000000004"},
      {100.0, "100.0"},
      {123456789012345.0, "123456789012345.0"},
      {1e15, "1000000000000000.0"},
      {9999999999999998.0, "9999999999999998.0"},
      {1e16, "1e+16"},
      {1.5e16, "1.5e+16"},
      {1e22, "1e+22"},
      {1e100, "1e+100"},
      {1e-4, "0.0001"},
      {0.00012345, "0.00012345"},
      {1e-5, "1e-05"},
      {1.25e-7, "1.25e-07"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {std::numeric_limits<double>::infinity(), "inf"},
      {-std::numeric_limits<double>::infinity(), "-inf"},
      {std::nan(""), "nan"},
  };
  for (const auto &[value, text] : table)
    EXPECT_EQ(printFloat(value), text);
}

TEST(Print, Integers) {
  EXPECT_EQ(printInteger(0), "0");
  EXPECT_EQ(printInteger(maxInteger), "18446744073709551615");
  EXPECT_EQ(printInteger(-maxInteger), "-18446744073709551615");
}

} // namespace
