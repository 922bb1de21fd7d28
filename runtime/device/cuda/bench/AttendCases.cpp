//===- AttendCases.cpp - cases of attention and of leaving rows -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/AttendGrid.h"
#include "runtime/device/cuda/bench/Cases.h"
#include "runtime/device/cuda/kernels/Kernels.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::bench;

std::string_view bench::kindName(CacheKind kind) {
  constexpr std::string_view names[cacheKindCount] = {"f16", "bf16", "e4m3"};
  return names[static_cast<size_t>(kind)];
}

namespace {

template <typename T> T *pointer(DeviceAddress address) {
  return reinterpret_cast<T *>(address);
}

float *randomNumbers(Lab &lab, size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float &each : numbers)
    each = normal(random);
  return pointer<float>(lab.upload(std::span<const float>(numbers)));
}

/// Returns keys and values of magnitude about 1 for one kv head's page.
std::vector<uint8_t> pagePattern(CacheKind kind, int32_t dim) {
  std::mt19937 random(3);
  std::vector<uint8_t> page(static_cast<size_t>(pageHeadBytes(kind, dim)));
  auto numbers = static_cast<size_t>(2 * pageHalfBytes(kind, dim));
  for (size_t i = 0; i < numbers; i += 2) {
    auto bits = static_cast<uint16_t>(random());
    uint16_t made = kind == CacheKind::F16    ? (bits & 0x83ff) | 0x3400
                    : kind == CacheKind::BF16 ? (bits & 0x807f) | 0x3e80
                                              : (bits & 0x8787) | 0x3030;
    std::memcpy(page.data() + i, &made, sizeof(made));
  }
  float scale = 1;
  for (size_t i = numbers; i < page.size(); i += sizeof(scale))
    std::memcpy(page.data() + i, &scale, sizeof(scale));
  return page;
}

RowTable makeTable(Lab &lab, const AttendShape &shape, int32_t perSequence) {
  std::vector<int32_t> positions, sequences;
  for (int32_t row = 0; row < shape.rows; ++row) {
    int32_t behind = shape.isPrompt ? shape.rows - 1 - row : 0;
    positions.push_back(shape.context - 1 - behind);
    sequences.push_back(shape.isPrompt ? 0 : row);
  }
  int32_t count = shape.isPrompt ? 1 : shape.rows;
  // Pages are in no order, as after some use.
  std::vector<int32_t> pages(static_cast<size_t>(count * perSequence));
  std::iota(pages.begin(), pages.end(), 0);
  std::mt19937 random(5);
  std::shuffle(pages.begin(), pages.end(), random);
  RowTable table = {};
  table.rowCount =
      pointer<int32_t>(lab.upload(std::span<const int32_t>(&shape.rows, 1)));
  table.positions =
      pointer<int32_t>(lab.upload(std::span<const int32_t>(positions)));
  table.sequences =
      pointer<int32_t>(lab.upload(std::span<const int32_t>(sequences)));
  table.pages = pointer<int32_t>(lab.upload(std::span<const int32_t>(pages)));
  table.pagesPerSequence = perSequence;
  return table;
}

void addNodes(Lab &lab, const AttendShape &shape, const AttendArguments &attend,
              std::vector<GraphNode> &nodes) {
  int32_t dim = cacheDim(shape.headDim), group = shape.heads / shape.kvHeads;
  std::string tail(kindName(shape.kind));
  tail += "_" + std::to_string(dim);
  auto kvHeads = static_cast<uint32_t>(shape.kvHeads);
  if (shape.isPrompt) {
    uint32_t tiles =
        static_cast<uint32_t>(divideUp(shape.rows, tileRows(dim, group)));
    nodes.push_back(lab.node("sluice_attend_tile_" + tail, {tiles, kvHeads},
                             attendThreads(dim), tileSharedBytes(dim), attend));
  }
  const AttendGrid grid =
      attendGrid({shape.rows, shape.heads, shape.kvHeads, dim,
                  spansOf(shape.context - 1), shape.isPrompt},
                 lab.properties().multiprocessors);
  nodes.push_back(lab.node(
      "sluice_attend_" + tail,
      {static_cast<uint32_t>(grid.spanRows * divideUp(group, warpPairs)),
       static_cast<uint32_t>(grid.spanShares), kvHeads},
      attendThreads(dim), attendSharedBytes(dim), attend));
}

} // namespace

KernelCase bench::makeAttend(Lab &lab, const AttendShape &shape,
                             Footprint footprint) {
  int32_t dim = cacheDim(shape.headDim);
  int32_t perSequence = divideUp(shape.context, pageTokens);
  auto pages = static_cast<uint64_t>(shape.isPrompt ? 1 : shape.rows) *
               static_cast<uint64_t>(perSequence);
  uint64_t cacheBytes = pages * static_cast<uint64_t>(shape.kvHeads) *
                        static_cast<uint64_t>(pageHeadBytes(shape.kind, dim));
  size_t numbers = static_cast<size_t>(shape.rows) *
                   static_cast<size_t>(shape.heads * shape.headDim);
  AttendArguments attend = {};
  attend.q = randomNumbers(lab, numbers, 9);
  DeviceAddress out = lab.zeros(numbers * 4);
  attend.out = pointer<float>(out);
  attend.rows = makeTable(lab, shape, perSequence);
  // The rows of a prompt are in tiles and need no places.
  const int32_t spans = spansOf(shape.context - 1);
  std::vector<int32_t> places(static_cast<size_t>(shape.rows), -1);
  for (int32_t row = 0; row < shape.rows && !shape.isPrompt; ++row)
    places[static_cast<size_t>(row)] = row * spans;
  attend.spanPlaces =
      pointer<int32_t>(lab.upload(std::span<const int32_t>(places)));
  attend.placeCount = shape.isPrompt ? 0 : shape.rows * spans;
  attend.tickets =
      pointer<uint32_t>(lab.zeros(static_cast<size_t>(attendTickets(
                                      shape.heads, shape.kvHeads, shape.rows)) *
                                  sizeof(uint32_t)));
  attend.partials = pointer<float>(
      lab.allocate(4 * attendPartialFloats(dim, shape.heads, shape.rows,
                                           attend.placeCount)));
  attend.heads = shape.heads;
  attend.kvHeads = shape.kvHeads;
  attend.headDim = shape.headDim;
  attend.scale = 0.0883883F;
  attend.skipChunks = shape.isPrompt;

  KernelCase made;
  made.pieces = footprint.pieces(cacheBytes);
  std::vector<uint8_t> pattern = pagePattern(shape.kind, dim);
  for (int32_t i = 0; i < made.pieces; ++i) {
    attend.cache = pointer<uint8_t>(lab.repeat(pattern, cacheBytes));
    addNodes(lab, shape, attend, made.nodes);
  }
  made.bytes = cacheBytes + 8 * numbers;
  // On average, the rows of a prompt see half of them fewer.
  double seen = shape.context - (shape.isPrompt ? (shape.rows - 1) / 2.0 : 0.0);
  made.flops = 4.0 * seen * shape.heads * shape.headDim * shape.rows;
  return made;
}

KernelCase bench::makeCompact(Lab &lab, const CompactShape &shape,
                              int32_t pieces) {
  auto rows = static_cast<size_t>(shape.rows);
  HostMemory alive = lab.host(rows);
  // The dead rows are spread over the slots.
  for (int32_t row = 0; alive.host && row < shape.rows; ++row)
    alive.host[row] =
        row * shape.dead / shape.rows == (row + 1) * shape.dead / shape.rows;
  std::vector<int32_t> numbers(rows), wanted(rows, 1);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<float> values(rows * static_cast<size_t>(shape.features));
  std::iota(values.begin(), values.end(), 0.0F);
  KernelCase made;
  made.pieces = pieces;
  for (int32_t i = 0; i < pieces; ++i) {
    auto table = [&](const std::vector<int32_t> &from) {
      return pointer<int32_t>(lab.upload(std::span<const int32_t>(from)));
    };
    CompactArguments compact = {};
    compact.alive = pointer<uint8_t>(alive.device);
    compact.rowCount = table({shape.rows});
    int32_t *origins = table(numbers), *wants = table(wanted);
    compact.states[0] = origins;
    compact.states[1] = wants;
    compact.states[2] = table(numbers);
    compact.states[3] = table(numbers);
    compact.stateCount = 4;
    compact.origins = origins;
    compact.wantsOutput = wants;
    compact.outputCount = table({shape.rows});
    compact.outputRows = table(numbers);
    compact.outputSources = table(numbers);
    compact.departedAt = table(numbers);
    compact.moves = table(numbers);
    compact.moveCount = table({0});
    compact.rowNow = table(numbers);
    compact.rowCapacity = shape.rows;
    made.nodes.push_back(lab.node("sluice_compact", {}, compactThreads,
                                  compactSharedBytes(shape.rows), compact));
    MoveArguments move = {};
    move.moves = compact.moves;
    move.moveCount = compact.moveCount;
    for (int32_t each = 0; each < shape.values; ++each) {
      move.values[each] =
          pointer<uint8_t>(lab.upload(std::span<const float>(values)));
      move.rowBytes[each] = int64_t{4} * shape.features;
    }
    made.nodes.push_back(lab.node("sluice_move_values",
                                  {static_cast<uint32_t>(shape.dead),
                                   static_cast<uint32_t>(shape.values)},
                                  moveThreads, 0, move));
  }
  // The living rows of the last `dead` slots move: each is read and written.
  int32_t moves = 0;
  for (int32_t row = shape.rows - shape.dead; alive.host && row < shape.rows;
       ++row)
    moves += alive.host[row];
  made.bytes = uint64_t{8} * static_cast<uint64_t>(moves) *
               static_cast<uint64_t>(shape.features * shape.values);
  return made;
}
