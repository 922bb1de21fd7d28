//===- Float8Test.cpp - tests of all e4m3 numbers and of rounding ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/formats/Float8.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace sluice;

/// Returns the value by the specification's formula.
static float valueOf(int bits) {
  int exponent = bits >> 3 & 15, mantissa = bits & 7;
  float size = exponent == 0 ? std::ldexp(float(mantissa), -9)
                             : std::ldexp(float(8 + mantissa), exponent - 10);
  return bits & 0x80 ? -size : size;
}

TEST(Float8Test, EveryNumberIsItself) {
  for (int bits = 0; bits < 256; ++bits) {
    if ((bits & 0x7f) == 0x7f) {
      EXPECT_TRUE(std::isnan(e4m3ToFloat(uint8_t(bits))));
      continue;
    }
    EXPECT_EQ(e4m3ToFloat(uint8_t(bits)), valueOf(bits)) << bits;
    EXPECT_EQ(floatToE4M3(valueOf(bits)), bits);
  }
}

TEST(Float8Test, RoundsToNearestAndHalvesToEven) {
  for (int bits = 0; bits < 0x7e; ++bits) {
    float low = valueOf(bits), high = valueOf(bits + 1);
    float middle = (low + high) / 2;
    int even = bits % 2 == 0 ? bits : bits + 1;
    EXPECT_EQ(floatToE4M3(middle), even) << bits;
    EXPECT_EQ(floatToE4M3(-middle), even | 0x80) << bits;
    EXPECT_EQ(floatToE4M3(std::nextafter(middle, low)), bits);
    EXPECT_EQ(floatToE4M3(std::nextafter(middle, high)), bits + 1);
  }
}

TEST(Float8Test, WhatIsBeyondIsTheLargest) {
  float infinity = std::numeric_limits<float>::infinity();
  for (float value : {449.0f, 1e30f, infinity}) {
    EXPECT_EQ(floatToE4M3(value), 0x7e);
    EXPECT_EQ(floatToE4M3(-value), 0xfe);
  }
  EXPECT_EQ(floatToE4M3(std::nanf("")), 0x7f);
  EXPECT_EQ(floatToE4M3(1e-30f), 0);
}
