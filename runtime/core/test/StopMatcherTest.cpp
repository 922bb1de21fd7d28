//===- StopMatcherTest.cpp - texts end where they should ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StopMatcher.h"

#include <gtest/gtest.h>
#include <random>

using namespace sluice;

namespace {

StopMatcher make(std::vector<std::string> strings) {
  Expected<StopMatcher> made = StopMatcher::create(std::move(strings));
  EXPECT_TRUE(made);
  return made.take();
}

TEST(StopMatcherTest, HoldsBackWhatMayBeginAStopString) {
  StopMatcher stop = make({"END"});
  EXPECT_EQ(stop.push("the E"), "the ");
  EXPECT_EQ(stop.push("N"), "");
  EXPECT_EQ(stop.push("Eat"), "ENEat");
  EXPECT_EQ(stop.push("EN"), "");
  EXPECT_EQ(stop.push("D more"), "");
  EXPECT_TRUE(stop.stopped());
  EXPECT_EQ(stop.matched(), 0u);
  EXPECT_EQ(stop.push("after"), "");
  EXPECT_EQ(stop.flush(), "");
}

TEST(StopMatcherTest, FlushGivesBackWhatWasHeld) {
  StopMatcher stop = make({"\n\n"});
  EXPECT_EQ(stop.push("a\n"), "a");
  EXPECT_EQ(stop.flush(), "\n");
  EXPECT_FALSE(stop.stopped());
}

TEST(StopMatcherTest, TheFirstCompleteStringEndsTheText) {
  StopMatcher stop = make({"abcX", "bc"});
  EXPECT_EQ(stop.push("1abc"), "1a");
  EXPECT_EQ(stop.matched(), 1u);
  StopMatcher both = make({"c", "bc"});
  EXPECT_EQ(both.push("abc"), "a");
  EXPECT_EQ(both.matched(), 1u);
}

TEST(StopMatcherTest, WithoutStringsTextPassesThrough) {
  StopMatcher stop = make({});
  EXPECT_EQ(stop.push("text"), "text");
  EXPECT_EQ(stop.flush(), "");
}

TEST(StopMatcherTest, LimitsAreChecked) {
  EXPECT_EQ(StopMatcher::create({""}).status().message(),
            "stop: a stop string is empty");
  EXPECT_FALSE(StopMatcher::create({std::string(4097, 'x')}));
  EXPECT_FALSE(StopMatcher::create(std::vector<std::string>(65, "x")));
}

/// The definition, applied to the whole text at once.
std::string wholeText(const std::string &text,
                      const std::vector<std::string> &stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string &stop : stops)
      if (text.substr(0, end).ends_with(stop))
        longest = std::max(longest, stop.size());
    if (longest)
      return text.substr(0, end - longest);
  }
  return text;
}

/// The division into pieces changes nothing, and only text that can begin a
/// stop string is held back.
TEST(StopMatcherTest, PiecesDoNotMatter) {
  std::mt19937 random(11);
  auto letters = [&](size_t max) {
    std::string text;
    for (size_t n = random() % (max + 1); n > 0; --n)
      text += static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::string> stops;
    for (int n = random() % 4; n > 0; --n)
      stops.push_back(letters(6) + "a");
    std::string text = letters(30);
    StopMatcher stop = make(stops);
    std::string got;
    size_t given = 0;
    while (given < text.size() && !stop.stopped()) {
      std::string piece = text.substr(given, random() % 5);
      given += piece.size();
      got += stop.push(piece);
      if (stop.stopped())
        break;
      std::string held = text.substr(got.size(), given - got.size());
      bool begins = held.empty();
      for (const std::string &each : stops)
        begins |= each.starts_with(held) && each != held;
      ASSERT_TRUE(begins) << "held back '" << held << "'";
    }
    got += stop.flush();
    ASSERT_EQ(got, wholeText(text, stops)) << text;
  }
}

} // namespace
