//===- LatencyHistogram.cpp - counts durations for percentiles ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/LatencyHistogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

using namespace sluice;
using namespace sluice::pipeline;

namespace {

/// Each doubling of the duration is divided into so many buckets. Below that
/// many nanoseconds each bucket is one nanosecond wide.
constexpr int precisionBits = 6;
constexpr uint64_t perDoubling = uint64_t{1} << precisionBits;
constexpr uint64_t buckets = (64 - precisionBits) * perDoubling;

/// Returns by how many bits durations in the bucket are shifted right.
uint64_t shiftOf(uint64_t bucket) {
  return bucket < perDoubling ? 0 : bucket / perDoubling - 1;
}

uint64_t bucketOf(Time latency) {
  auto nanos = static_cast<uint64_t>(std::max<int64_t>(0, latency.count()));
  int shift =
      std::max(0, static_cast<int>(std::bit_width(nanos)) - precisionBits - 1);
  return static_cast<uint64_t>(shift) * perDoubling + (nanos >> shift);
}

/// Returns the middle of the bucket's range, in nanoseconds.
double middleOf(uint64_t bucket) {
  uint64_t shift = shiftOf(bucket);
  auto first = static_cast<double>((bucket - shift * perDoubling) << shift);
  return first + (std::exp2(static_cast<double>(shift)) - 1) / 2;
}

} // namespace

LatencyHistogram::LatencyHistogram() : counts(buckets) {}

void LatencyHistogram::add(Time latency) {
  ++counts[bucketOf(latency)];
  ++total;
  longest = std::max(longest, latency);
}

/// Returns the least duration that at least this share of all do not exceed.
double LatencyHistogram::percentileMicros(double share) const {
  auto wanted = static_cast<uint64_t>(
      std::max(1.0, std::ceil(share * static_cast<double>(total))));
  uint64_t bucket = 0;
  for (uint64_t seen = counts[0]; seen < wanted && bucket + 1 < buckets;)
    seen += counts[++bucket];
  return std::min(middleOf(bucket), static_cast<double>(longest.count())) /
         1000;
}

LatencyReport LatencyHistogram::summarize() const {
  if (total == 0)
    return {};
  return {total, percentileMicros(0.5), percentileMicros(0.99),
          static_cast<double>(longest.count()) / 1000};
}
