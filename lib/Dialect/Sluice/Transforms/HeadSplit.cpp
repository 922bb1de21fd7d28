//===- HeadSplit.cpp - the features of each member of a group -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeadSplit.h"

using namespace sluice;

/// Appends a range, or extends the last range if the new one begins where it
/// ends.
static void addRange(llvm::SmallVector<int64_t> &ranges, int64_t begin,
                     int64_t end) {
  if (!ranges.empty() && ranges.back() == begin)
    ranges.back() = end;
  else
    ranges.append({begin, end});
}

int64_t FeatureSplit::width() const {
  int64_t width = 0;
  for (size_t i = 0; i < ranges.front().size(); i += 2)
    width += ranges.front()[i + 1] - ranges.front()[i];
  return width;
}

std::optional<FeatureSplit> sluice::splitEvenly(int64_t width,
                                                int64_t members) {
  if (width % members != 0)
    return std::nullopt;
  return splitWithOverlap(width, members);
}

std::optional<FeatureSplit> sluice::splitWithOverlap(int64_t width,
                                                     int64_t members) {
  int64_t part = (width + members - 1) / members;
  if (part * (members - 1) >= width)
    return std::nullopt;
  FeatureSplit split;
  for (int64_t m = 0; m < members; ++m) {
    int64_t begin = std::min(m * part, width - part);
    split.ranges.push_back({begin, begin + part});
  }
  return split;
}

std::optional<HeadSplit> HeadSplit::create(HeadCounts counts, int64_t members) {
  bool sharesKeys = members % counts.kvHeads == 0;
  if (counts.heads % members != 0 ||
      (counts.kvHeads % members != 0 && !sharesKeys))
    return std::nullopt;
  return HeadSplit{counts, members};
}

FeatureSplit HeadSplit::queries() const {
  return *splitEvenly(counts.heads * counts.headDim, members);
}

FeatureSplit HeadSplit::keys() const {
  FeatureSplit split;
  for (int64_t m = 0; m < members; ++m) {
    int64_t first = firstKvHead(m);
    split.ranges.push_back(
        {first * counts.headDim, (first + kvHeads()) * counts.headDim});
  }
  return split;
}

FeatureSplit HeadSplit::fused(ir::QKVLayout layout) const {
  // Ranges are counted in heads and converted to features at the end. The
  // layout `grouped` has a group for each key head, `concat` has one group.
  bool isGrouped = layout == ir::QKVLayout::Grouped;
  int64_t groups = isGrouped ? counts.kvHeads : 1;
  int64_t queriesOfGroup = counts.heads / groups;
  int64_t keysOfGroup = counts.kvHeads / groups;
  FeatureSplit split;
  for (int64_t m = 0; m < members; ++m) {
    auto &ranges = split.ranges.emplace_back();
    int64_t head = firstHead(m), headEnd = head + heads();
    int64_t key = firstKvHead(m), keyEnd = key + kvHeads();
    int64_t begin = 0; // the first head of the group
    for (int64_t g = 0; g < groups; ++g) {
      int64_t keysBegin = begin + queriesOfGroup;
      // The member's heads within the group.
      int64_t first = std::max(head - g * queriesOfGroup, int64_t(0));
      int64_t end = std::min(headEnd - g * queriesOfGroup, queriesOfGroup);
      int64_t firstKey = std::max(key - g * keysOfGroup, int64_t(0));
      int64_t endKey = std::min(keyEnd - g * keysOfGroup, keysOfGroup);
      if (first < end) {
        addRange(ranges, begin + first, begin + end);
        addRange(ranges, keysBegin + firstKey, keysBegin + endKey);
        addRange(ranges, keysBegin + keysOfGroup + firstKey,
                 keysBegin + keysOfGroup + endKey);
      }
      begin += queriesOfGroup + 2 * keysOfGroup;
    }
    for (int64_t &bound : ranges)
      bound *= counts.headDim;
  }
  return split;
}
