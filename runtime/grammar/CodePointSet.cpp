//===- CodePointSet.cpp - sets of characters and their UTF-8 --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/CodePointSet.h"

#include "runtime/text/Utf8.h"

#include <algorithm>
#include <string>

using namespace sluice;
using namespace sluice::grammar;

namespace {

constexpr uint32_t firstSurrogate = 0xD800;
constexpr uint32_t lastSurrogate = 0xDFFF;

/// Splits a range of code points into ranges of byte sequences: first where the
/// number of bytes changes, then until all bytes after the first different byte
/// take all of their values.
class Utf8Splitter {
public:
  explicit Utf8Splitter(std::vector<std::vector<ByteRange>> &out) : out(out) {}

  void split(uint32_t low, uint32_t high) {
    for (uint32_t max : {0x7Fu, 0x7FFu, 0xFFFFu})
      if (low <= max && max < high) {
        split(low, max);
        split(max + 1, high);
        return;
      }
    if (high >= 0x80)
      for (uint32_t bits = 6; bits <= 18; bits += 6) {
        uint32_t tail = (1u << bits) - 1;
        if ((low & ~tail) == (high & ~tail))
          continue;
        if ((low & tail) != 0) {
          split(low, low | tail);
          split((low | tail) + 1, high);
          return;
        }
        if ((high & tail) != tail) {
          split(low, (high & ~tail) - 1);
          split(high & ~tail, high);
          return;
        }
      }
    emit(low, high);
  }

private:
  void emit(uint32_t low, uint32_t high) {
    std::string first, second;
    text::appendCodePoint(first, low);
    text::appendCodePoint(second, high);
    std::vector<ByteRange> &sequence = out.emplace_back();
    for (size_t i = 0; i < first.size(); ++i)
      sequence.push_back(
          {static_cast<uint8_t>(first[i]), static_cast<uint8_t>(second[i])});
  }

  std::vector<std::vector<ByteRange>> &out;
};

} // namespace

CodePointSet::CodePointSet(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](Range a, Range b) { return a.low < b.low; });
  auto append = [&](uint32_t low, uint32_t high) {
    if (low > high)
      return;
    if (!sorted.empty() && low <= sorted.back().high + 1)
      sorted.back().high = std::max(sorted.back().high, high);
    else
      sorted.push_back({low, high});
  };
  // First the part of every range below the surrogates, then the part above
  // them, so that the appended ranges stay in order.
  for (Range range : ranges)
    append(range.low, std::min(range.high, firstSurrogate - 1));
  for (Range range : ranges)
    append(std::max(range.low, lastSurrogate + 1), std::min(range.high, last));
}

CodePointSet CodePointSet::all() { return CodePointSet({{0, last}}); }

CodePointSet CodePointSet::complement() const {
  std::vector<Range> rest;
  uint32_t next = 0;
  for (Range range : sorted) {
    if (range.low > next)
      rest.push_back({next, range.low - 1});
    next = range.high + 1;
  }
  if (next <= last)
    rest.push_back({next, last});
  return CodePointSet(std::move(rest));
}

CodePointSet CodePointSet::intersection(const CodePointSet &other) const {
  std::vector<Range> both;
  size_t i = 0, j = 0;
  while (i < sorted.size() && j < other.sorted.size()) {
    Range a = sorted[i], b = other.sorted[j];
    uint32_t low = std::max(a.low, b.low), high = std::min(a.high, b.high);
    if (low <= high)
      both.push_back({low, high});
    if (a.high <= b.high)
      ++i;
    else
      ++j;
  }
  return CodePointSet(std::move(both));
}

bool CodePointSet::contains(uint32_t codePoint) const {
  auto after = std::upper_bound(
      sorted.begin(), sorted.end(), codePoint,
      [](uint32_t value, Range range) { return value < range.low; });
  return after != sorted.begin() && codePoint <= std::prev(after)->high;
}

std::vector<std::vector<ByteRange>>
sluice::grammar::utf8Sequences(const CodePointSet &set) {
  std::vector<std::vector<ByteRange>> out;
  Utf8Splitter splitter(out);
  for (CodePointSet::Range range : set.ranges())
    splitter.split(range.low, range.high);
  return out;
}
