//===- NumberAutomatonTest.cpp - tests of ranges of numbers ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares automata with 128-bit arithmetic on the same numbers, scaled to
// integers.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/NumberAutomaton.h"
#include "runtime/grammar/test/TestGrammars.h"

#include <gtest/gtest.h>
#include <random>

using namespace sluice;
using namespace sluice::grammar;

namespace {

constexpr int scale = 4; // digits after the point that are compared

/// Returns a number times 10^scale, from its text.
__int128 scaled(const std::string &text) {
  size_t at = text[0] == '-';
  __int128 value = 0;
  int behind = -1;
  for (; at < text.size(); ++at)
    if (text[at] == '.')
      behind = 0;
    else if (value = value * 10 + (text[at] - '0'); behind >= 0)
      ++behind;
  for (int i = std::max(behind, 0); i < scale; ++i)
    value *= 10;
  return text[0] == '-' ? -value : value;
}

std::string randomNumber(std::mt19937 &random, bool integer) {
  std::string text = random() % 2 ? "-" : "";
  size_t digits = 1 + random() % 4;
  std::string whole;
  for (size_t i = 0; i < digits; ++i)
    // 0, 4 or 8, which gives many ties.
    whole += static_cast<char>('0' + random() % 3 * 4);
  whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size() - 1));
  text += whole;
  size_t behind = integer ? 0 : random() % (scale + 1);
  if (behind > 0)
    text += '.';
  for (size_t i = 0; i < behind; ++i)
    text += static_cast<char>('0' + random() % 3 * 4);
  return text;
}

Decimal decimal(std::string_view text) {
  Expected<Decimal> number = Decimal::parse(text);
  EXPECT_TRUE(number) << text;
  return *number;
}

bool takes(const NumberAutomata &automata, const std::string &text) {
  return text[0] == '-' ? automata.negative.contains(text.substr(1))
                        : automata.positive.contains(text);
}

TEST(NumberAutomatonTest, ParsesDecimals) {
  struct Case {
    std::string_view text;
    Decimal number;
  };
  const Case cases[] = {
      {"0", {}},
      {"-0", {}},
      {"0.000", {}},
      {"12", {false, "12", ""}},
      {"-12.340", {true, "12", "34"}},
      {"1e3", {false, "1000", ""}},
      {"1.5e+2", {false, "150", ""}},
      {"1.25e1", {false, "12", "5"}},
      {"25e-3", {false, "0", "025"}},
      {"0.05", {false, "0", "05"}},
      {"1e-07", {false, "0", "0000001"}},
      {"100E-2", {false, "1", ""}},
      {"9223372036854775807", {false, "9223372036854775807", ""}},
  };
  for (const Case &it : cases)
    EXPECT_EQ(decimal(it.text), it.number) << it.text;
  for (std::string_view text : {"1e41", "1e-41", "1e99999999999", "-1e400"})
    EXPECT_EQ(Decimal::parse(text).status().message(),
              "a number of more than 40 digits before or behind the point");
}

TEST(NumberAutomatonTest, Bounds) {
  std::mt19937 random(3);
  for (int turn = 0; turn < 400; ++turn) {
    bool integer = random() % 2;
    NumberRange range;
    range.integer = integer;
    std::string min, max;
    bool minOpen = random() % 2, maxOpen = random() % 2;
    if (random() % 4) {
      min = randomNumber(random, random() % 2);
      range.min.push_back({decimal(min), minOpen});
    }
    if (random() % 4) {
      max = randomNumber(random, random() % 2);
      range.max.push_back({decimal(max), maxOpen});
    }
    Expected<NumberAutomata> automata = numberAutomata(range, anyWork());
    ASSERT_TRUE(automata) << automata.status().message();
    for (int i = 0; i < 100; ++i) {
      std::string text = randomNumber(random, integer);
      __int128 value = scaled(text);
      bool wanted = !(text[0] == '-' && value == 0);
      if (!min.empty())
        wanted &= minOpen ? value > scaled(min) : value >= scaled(min);
      if (!max.empty())
        wanted &= maxOpen ? value < scaled(max) : value <= scaled(max);
      ASSERT_EQ(takes(*automata, text), wanted)
          << text << " in " << (minOpen ? "]" : "[") << min << " " << max
          << (maxOpen ? "[" : "]");
      ASSERT_EQ(automata->contains(decimal(text)) || value == 0,
                wanted || value == 0);
    }
  }
}

TEST(NumberAutomatonTest, Multiples) {
  std::mt19937 random(4);
  for (std::string step : {"1", "2", "3", "7", "10", "25", "0.5", "0.01", "1.5",
                           "0.25", "4.44", "1000"}) {
    NumberRange range;
    range.multiplesOf = {decimal(step)};
    Expected<NumberAutomata> automata = numberAutomata(range, anyWork());
    ASSERT_TRUE(automata) << step;
    for (int i = 0; i < 3000; ++i) {
      std::string text = randomNumber(random, random() % 2);
      __int128 value = scaled(text);
      bool wanted =
          value % scaled(step) == 0 && !(text[0] == '-' && value == 0);
      ASSERT_EQ(takes(*automata, text), wanted) << text << " of " << step;
    }
  }
  NumberRange both;
  both.integer = true;
  both.multiplesOf = {decimal("4"), decimal("6")};
  both.min = {{decimal("-30")}};
  both.max = {{decimal("30")}};
  Expected<NumberAutomata> automata = numberAutomata(both, anyWork());
  ASSERT_TRUE(automata);
  for (int i = -100; i <= 100; ++i)
    EXPECT_EQ(takes(*automata, std::to_string(i)),
              i % 12 == 0 && i >= -30 && i <= 30)
        << i;
}

TEST(NumberAutomatonTest, WritesPlainDecimalsOnly) {
  NumberRange range;
  range.min = {{decimal("-5")}};
  NumberAutomata automata = *numberAutomata(range, anyWork());
  for (std::string text : {"00", "01", "1.", ".5", "1e2", "+1", "", "-"})
    EXPECT_FALSE(automata.positive.contains(text)) << text;
  EXPECT_TRUE(automata.positive.contains(std::string(20, '9')));
  EXPECT_FALSE(automata.positive.contains(std::string(21, '9')));
  EXPECT_TRUE(automata.positive.contains("1." + std::string(20, '9')));
  EXPECT_FALSE(automata.positive.contains("1." + std::string(21, '9')));
  // A bound with more digits allows more digits.
  NumberRange large;
  large.min = {{decimal("1e30")}};
  EXPECT_TRUE(numberAutomata(large, anyWork())
                  ->positive.contains("1" + std::string(30, '0')));
}

TEST(NumberAutomatonTest, RefusesFineSteps) {
  NumberRange range;
  range.multiplesOf = {decimal("0.12345")};
  EXPECT_EQ(numberAutomata(range, anyWork()).status().message(),
            "multiples of a number of more than 4 digits are not supported");
}

} // namespace
