//===- ArenaPlan.cpp - the places of buffers in the arena -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArenaPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sluice::planning;

/// 64 bytes: a cache line, and the widest vector.
static constexpr int64_t unitFloats = 16;
static constexpr int64_t maxFloats = int64_t(1) << 62;

static int64_t roundUp(int64_t floats) {
  return static_cast<int64_t>(llvm::alignTo(floats, unitFloats));
}

static bool overlaps(const Lifetime &a, const Lifetime &b) {
  return a.first <= b.last && b.first <= a.last;
}

/// Returns the lowest offset at which `buffer` does not conflict with the
/// buffers `placed`, which are sorted by their offsets.
static int64_t findPlace(ArrayRef<Lifetime> buffers, unsigned buffer,
                         ArrayRef<unsigned> placed, ArrayRef<int64_t> offsets) {
  int64_t size = roundUp(buffers[buffer].floatsPerRow);
  int64_t place = 0;
  for (unsigned other : placed) {
    if (!overlaps(buffers[buffer], buffers[other]))
      continue;
    if (place + size <= offsets[other])
      return place;
    place =
        std::max(place, offsets[other] + roundUp(buffers[other].floatsPerRow));
  }
  return place;
}

FailureOr<ArenaPlan> sluice::planning::planArena(ArrayRef<Lifetime> buffers) {
  int64_t sum = 0;
  SmallVector<unsigned> order;
  for (auto [index, buffer] : llvm::enumerate(buffers)) {
    if (buffer.floatsPerRow == 0)
      continue;
    if (buffer.floatsPerRow > maxFloats - unitFloats - sum)
      return failure();
    sum += roundUp(buffer.floatsPerRow);
    order.push_back(index);
  }
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(-buffers[a].floatsPerRow, a) <
           std::pair(-buffers[b].floatsPerRow, b);
  });

  ArenaPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  SmallVector<unsigned> placed;
  for (unsigned buffer : order) {
    int64_t place = findPlace(buffers, buffer, placed, plan.offsets);
    plan.offsets[buffer] = place;
    plan.floatsPerRow = std::max(plan.floatsPerRow,
                                 place + roundUp(buffers[buffer].floatsPerRow));
    auto position =
        llvm::upper_bound(placed, place, [&](int64_t at, unsigned i) {
          return at < plan.offsets[i];
        });
    placed.insert(position, buffer);
  }
  return plan;
}
