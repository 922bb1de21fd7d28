//===- CodePointSetTest.cpp - tests of sets of characters -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/CodePointSet.h"
#include "runtime/text/Utf8.h"

#include <gtest/gtest.h>
#include <random>
#include <string>

using namespace sluice;
using namespace sluice::grammar;

namespace {

using Range = CodePointSet::Range;
using Ranges = std::vector<Range>;

Ranges rangesOf(const CodePointSet &set) {
  return {set.ranges().begin(), set.ranges().end()};
}

TEST(CodePointSetTest, JoinsRanges) {
  CodePointSet set(
      {{'x', 'z'}, {'a', 'c'}, {'d', 'd'}, {'b', 'b'}, {'9', '0'}});
  EXPECT_EQ(rangesOf(set), (Ranges{{'a', 'd'}, {'x', 'z'}}));
  EXPECT_TRUE(set.contains('a'));
  EXPECT_TRUE(set.contains('z'));
  EXPECT_FALSE(set.contains('e'));
  EXPECT_FALSE(set.contains('`'));
  EXPECT_TRUE(CodePointSet().empty());
}

TEST(CodePointSetTest, HasNoSurrogates) {
  EXPECT_EQ(rangesOf(CodePointSet({{0xD000, 0xE000}, {0x10FFFE, 0x110005}})),
            (Ranges{{0xD000, 0xD7FF}, {0xE000, 0xE000}, {0x10FFFE, 0x10FFFF}}));
  EXPECT_TRUE(CodePointSet({{0xD800, 0xDFFF}}).empty());
  EXPECT_EQ(rangesOf(CodePointSet::all()),
            (Ranges{{0, 0xD7FF}, {0xE000, 0x10FFFF}}));
}

TEST(CodePointSetTest, ComplementAndIntersection) {
  CodePointSet set({{'a', 'c'}, {0x10FFFF, 0x10FFFF}});
  EXPECT_EQ(rangesOf(set.complement()),
            (Ranges{{0, '`'}, {'d', 0xD7FF}, {0xE000, 0x10FFFE}}));
  EXPECT_EQ(set.complement().complement(), set);
  EXPECT_EQ(CodePointSet().complement(), CodePointSet::all());
  EXPECT_TRUE(CodePointSet::all().complement().empty());
  EXPECT_EQ(rangesOf(set.intersection(CodePointSet({{'b', 'z'}}))),
            (Ranges{{'b', 'c'}}));
}

bool inSequences(const std::vector<std::vector<ByteRange>> &sequences,
                 const std::string &bytes) {
  int found = 0;
  for (const std::vector<ByteRange> &sequence : sequences) {
    bool fits = sequence.size() == bytes.size();
    for (size_t i = 0; fits && i < bytes.size(); ++i) {
      auto byte = static_cast<uint8_t>(bytes[i]);
      fits = sequence[i].low <= byte && byte <= sequence[i].high;
    }
    found += fits;
  }
  EXPECT_LE(found, 1);
  return found == 1;
}

TEST(CodePointSetTest, Utf8OfEveryCharacter) {
  std::mt19937 random(1);
  // Code points around which lengths and leading bytes change.
  const uint32_t edges[] = {0,       0x7F,     0x80,    0x7FF,   0x800,
                            0xFFF,   0x1000,   0xCFFF,  0xD000,  0xD7FF,
                            0xE000,  0xFFFF,   0x10000, 0x3FFFF, 0x40000,
                            0xFFFFF, 0x100000, 0x10FFFF};
  for (int turn = 0; turn < 200; ++turn) {
    auto pick = [&]() -> uint32_t {
      uint32_t at = edges[random() % std::size(edges)] + random() % 5;
      return at < 2 ? 0 : at - 2;
    };
    Ranges ranges;
    for (int i = 0; i < 3; ++i)
      ranges.push_back({pick(), pick()});
    CodePointSet set(ranges);
    auto sequences = utf8Sequences(set);
    for (uint32_t edge : edges)
      for (uint32_t code = edge < 70 ? 0 : edge - 70; code < edge + 70;
           ++code) {
        if (code > CodePointSet::last || (code >= 0xD800 && code <= 0xDFFF))
          continue;
        std::string bytes;
        text::appendCodePoint(bytes, code);
        bool wanted = false;
        for (Range range : ranges)
          wanted |= range.low <= code && code <= range.high;
        ASSERT_EQ(set.contains(code), wanted) << code;
        ASSERT_EQ(inSequences(sequences, bytes), wanted) << code;
      }
  }
}

TEST(CodePointSetTest, Utf8OfAllIsTheStandardsTable) {
  // Unicode 16.0, table 3-7: well-formed byte sequences.
  using Sequence = std::vector<ByteRange>;
  const std::vector<Sequence> table{
      {{0x00, 0x7F}},
      {{0xC2, 0xDF}, {0x80, 0xBF}},
      {{0xE0, 0xE0}, {0xA0, 0xBF}, {0x80, 0xBF}},
      {{0xE1, 0xEC}, {0x80, 0xBF}, {0x80, 0xBF}},
      {{0xED, 0xED}, {0x80, 0x9F}, {0x80, 0xBF}},
      {{0xEE, 0xEF}, {0x80, 0xBF}, {0x80, 0xBF}},
      {{0xF0, 0xF0}, {0x90, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}},
      {{0xF1, 0xF3}, {0x80, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}},
      {{0xF4, 0xF4}, {0x80, 0x8F}, {0x80, 0xBF}, {0x80, 0xBF}}};
  EXPECT_EQ(utf8Sequences(CodePointSet::all()), table);
}

} // namespace
