//===- UnitsTest.cpp - tests of Units.h -----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/Units.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cluster;

namespace {

double value(std::string_view text, Quantity quantity) {
  Expected<double> number = parseQuantity(text, quantity);
  EXPECT_TRUE(number.ok()) << number.status().message();
  return number ? *number : -1;
}

std::string error(std::string_view text, Quantity quantity) {
  Expected<double> number = parseQuantity(text, quantity);
  EXPECT_FALSE(number.ok()) << text;
  return number.status().message();
}

TEST(UnitsTest, ReadsQuantities) {
  EXPECT_EQ(value("64 GiB", Quantity::Bytes), 64.0 * (1 << 30));
  EXPECT_EQ(value("1.5kB", Quantity::Bytes), 1500);
  EXPECT_EQ(value("85 GB/s", Quantity::BytesPerSecond), 85e9);
  EXPECT_EQ(value("1 Gb/s", Quantity::BytesPerSecond), 125e6);
  EXPECT_EQ(value("450 GFLOP/s", Quantity::FlopsPerSecond), 450e9);
  EXPECT_EQ(value("5e1 us", Quantity::Seconds), 50e-6);
  EXPECT_EQ(value("0 s", Quantity::Seconds), 0);
}

TEST(UnitsTest, RefusesWhatIsNoQuantity) {
  EXPECT_EQ(error("50", Quantity::Seconds),
            "'50' has no unit: expected one of ns, us, ms, s");
  EXPECT_EQ(error("1 GB/s", Quantity::Seconds),
            "'1 GB/s' has the unit 'GB/s', not one of ns, us, ms, s");
  for (const char *text : {"", "GiB", "-1 GiB", "+1 GiB", "nan GiB", "inf GiB",
                           "1e999 GiB", " 1 GiB", ".5 GiB"})
    EXPECT_EQ(error(text, Quantity::Bytes),
              "'" + std::string(text) + "' does not start with a number");
  // A millibit is not a unit.
  EXPECT_FALSE(parseQuantity("1 mb/s", Quantity::BytesPerSecond).ok());
  EXPECT_FALSE(parseQuantity("1 GiB/s ", Quantity::BytesPerSecond).ok());
}

TEST(UnitsTest, ReadsPlainNumbers) {
  EXPECT_EQ(parseNumber("4.5"), 4.5);
  EXPECT_EQ(parseNumber("4.5x"), std::nullopt);
  EXPECT_EQ(parseNumber("-4"), std::nullopt);
  EXPECT_EQ(parseInteger("80"), 80);
  for (const char *text : {"", "-1", "1.0", "1e3", "99999999999999999999"})
    EXPECT_EQ(parseInteger(text), std::nullopt) << text;
}

TEST(UnitsTest, WritesThreeDigits) {
  EXPECT_EQ(formatBytes(41.2 * (1 << 30)), "41.2 GiB");
  EXPECT_EQ(formatBytes(96), "96 B");
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(1023.9 * (1 << 20)), "1 GiB");
  EXPECT_EQ(formatSeconds(0.0601), "60.1 ms");
  EXPECT_EQ(formatSeconds(85e-6), "85 us");
  EXPECT_EQ(formatSeconds(1.234e-6), "1.23 us");
  EXPECT_EQ(formatSeconds(12.5), "12.5 s");
}

} // namespace
