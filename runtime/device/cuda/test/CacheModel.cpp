//===- CacheModel.cpp - a layer's cache for tests in the emulator ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/CacheModel.h"
#include "runtime/device/cuda/test/LateInputs.h"
#include "runtime/formats/BlockFormat.h"
#include "runtime/formats/Float8.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace sluice;
using namespace sluice::cuda;

namespace {

/// This byte gives finite numbers in every format.
constexpr uint8_t leftover = 0x35;

struct DeviceRows {
  DeviceArray<int32_t> count, positions, sequences;

  DeviceRows(const std::vector<StepRow> &rows, int32_t capacity)
      : count(std::vector<int32_t>{int32_t(rows.size())}),
        positions(size_t(capacity)), sequences(size_t(capacity)) {
    for (size_t i = 0; i < rows.size(); ++i) {
      positions[i] = rows[i].position;
      sequences[i] = rows[i].sequence;
    }
  }
  void hideIn(LateInputs &late) {
    late.hide(count);
    late.hide(positions);
    late.hide(sequences);
  }
  RowTable table(const DeviceArray<int32_t> &pages, int32_t perSequence) const {
    return {count.data(), positions.data(), sequences.data(), pages.data(),
            perSequence};
  }
};

std::string kernelOf(CacheKind kind, int32_t dim, bool tile) {
  return std::string("sluice_attend_") + (tile ? "tile_" : "") +
         kindName(kind) + "_" + std::to_string(dim);
}

} // namespace

const char *cuda::kindName(CacheKind kind) {
  constexpr const char *names[cacheKindCount] = {"f16", "bf16", "e4m3"};
  return names[int(kind)];
}

CacheModel::CacheModel(CacheKind kind, int32_t kvHeads, int32_t headDim,
                       int32_t sequences, int32_t tokens)
    : kind(kind), kvHeads(kvHeads), headDim(headDim), dim(cacheDim(headDim)),
      pagesPerSequence(divideUp(tokens, pageTokens)) {
  int32_t count = sequences * pagesPerSequence;
  bytes = DeviceArray<uint8_t>(size_t(count) * size_t(kvHeads) *
                               size_t(pageHeadBytes(kind, dim)));
  std::fill(bytes.data(), bytes.data() + bytes.size(), leftover);
  std::vector<int32_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  pages = DeviceArray<int32_t>(order);
}

void CacheModel::setPages(int32_t sequence, std::span<const int32_t> held) {
  std::ranges::copy(held, pages.data() + sequence * pagesPerSequence);
}

void CacheModel::copy(const std::vector<PageCopy> &copies) {
  std::vector<int32_t> list;
  for (const PageCopy &each : copies)
    list.insert(list.end(), {each.from, each.to});
  DeviceArray<int32_t> fromTo(list);
  DeviceArray<int32_t> count(std::vector<int32_t>{int32_t(copies.size())});
  auto layers = DeviceArray<LayerPages>(1).holdingAddresses();
  layers[0] = {bytes.data(), int64_t{kvHeads} * pageHeadBytes(kind, dim)};
  PageCopyArguments arguments = {layers.data(), fromTo.data(), count.data()};
  emulator::LaunchOptions options;
  options.grid.x = 3;
  options.threads = copyThreads;
  LateInputs late;
  late.hide(bytes);
  late.hide(fromTo);
  late.hide(count);
  late.expectLaunch(options, "sluice_copy_pages", arguments);
}

void CacheModel::fill(std::mt19937 &random) {
  const auto block = size_t(pageHeadBytes(kind, dim));
  const auto numbers = size_t(2 * pageHalfBytes(kind, dim));
  for (size_t begin = 0; begin < bytes.size(); begin += block) {
    for (size_t at = begin; at < begin + numbers; at += 2) {
      auto bits = uint16_t(random());
      // Keeps sign and mantissa.
      bits = kind == CacheKind::F16    ? (bits & 0x83ff) | 0x3400
             : kind == CacheKind::BF16 ? (bits & 0x807f) | 0x3e80
                                       : (bits & 0x8787) | 0x2828;
      std::memcpy(bytes.data() + at, &bits, 2);
    }
    const float scale = 1;
    for (size_t at = begin + numbers; at < begin + block; at += 4)
      std::memcpy(bytes.data() + at, &scale, 4);
  }
}

void CacheModel::append(const std::vector<StepRow> &rows,
                        const std::vector<float> &k,
                        const std::vector<float> &v,
                        const std::vector<Mirror> &mirrors,
                        RotatedRows *rotated) {
  auto capacity = int32_t(rows.size()) + 3;
  DeviceRows device(rows, capacity);
  DeviceArray<float> keys(k), values(v);
  DeviceArray<int32_t> mirrorCount(
      std::vector<int32_t>{int32_t(mirrors.size())});
  DeviceArray<int32_t> mirrorRows(mirrors.size() + 1);
  DeviceArray<int32_t> mirrorSequences(mirrors.size() + 1);
  for (size_t i = 0; i < mirrors.size(); ++i) {
    mirrorRows[i] = mirrors[i].row;
    mirrorSequences[i] = mirrors[i].sequence;
  }
  AppendArguments arguments = {};
  arguments.k = keys.data();
  arguments.v = values.data();
  arguments.cache = bytes.data();
  arguments.rows = device.table(pages, pagesPerSequence);
  arguments.mirrorCount = mirrors.empty() ? nullptr : mirrorCount.data();
  arguments.mirrorRows = mirrorRows.data();
  arguments.mirrorSequences = mirrorSequences.data();
  arguments.kvHeads = kvHeads;
  arguments.headDim = headDim;
  arguments.kind = kind;
  DeviceArray<float> table, q, turnedQ, turnedK;
  if (rotated) {
    table = DeviceArray<float>(rotated->table);
    q = DeviceArray<float>(rotated->q);
    turnedQ = DeviceArray<float>(rotated->q.size());
    turnedK = DeviceArray<float>(k.size());
    arguments.keys = {keys.data(), turnedK.data(), table.data(),
                      kvHeads,     rotated->pairs, rotated->isHalf};
    arguments.queries = {q.data(),       turnedQ.data(), table.data(),
                         rotated->heads, rotated->pairs, rotated->isHalf};
    arguments.k = nullptr;
  }
  emulator::LaunchOptions options;
  options.threads = appendThreads;
  options.grid.x =
      uint32_t(divideUp(capacity * (kvHeads + arguments.queries.heads), 4));
  options.order = emulator::Order::Shuffled;
  LateInputs late;
  device.hideIn(late);
  late.hide(pages);
  late.hide(keys);
  late.hide(values);
  late.hide(mirrorCount);
  late.hide(mirrorRows);
  late.hide(mirrorSequences);
  late.hide(bytes);
  if (rotated)
    for (DeviceArray<float> *each : {&q, &turnedQ, &turnedK})
      late.hide(*each);
  late.expectLaunch(options, "sluice_append_cache", arguments);
  if (rotated) {
    rotated->rotatedQ = turnedQ.values();
    rotated->rotatedK = turnedK.values();
  }
}

AttendArguments CacheModel::argumentsOf(const SluiceAttention &params) const {
  AttendArguments arguments = {};
  arguments.cache = bytes.data();
  arguments.heads = int32_t(params.heads);
  arguments.kvHeads = kvHeads;
  arguments.headDim = headDim;
  arguments.window = int32_t(params.window);
  arguments.scale = params.scale;
  arguments.softcap = params.softcap;
  return arguments;
}

/// Returns which rows are in tiles: whole ones, of one sequence, at consecutive
/// positions.
static std::vector<bool> rowsInTiles(const std::vector<StepRow> &rows,
                                     size_t tile) {
  std::vector<bool> result(rows.size());
  for (size_t first = 0; first + tile <= rows.size(); first += tile) {
    bool chunk = true;
    for (size_t i = first + 1; i < first + tile; ++i)
      chunk = chunk && rows[i].sequence == rows[first].sequence &&
              rows[i].position == rows[i - 1].position + 1;
    std::fill_n(result.begin() + std::ptrdiff_t(first), tile, chunk);
  }
  return result;
}

/// Returns whether the value is still the NaN with which the array was created,
/// and which no kernel makes.
static bool isUntouched(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits == 0xffffffff;
}

/// Expects that `out` has all numbers of the rows, and no other numbers.
static void expectRows(const DeviceArray<float> &out, size_t rowFloats,
                       const std::vector<bool> &rows, const char *whose) {
  size_t wrong = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    size_t row = i / rowFloats;
    wrong += (row < rows.size() && rows[row]) == isUntouched(out[i]);
  }
  EXPECT_EQ(wrong, 0u) << "numbers of rows " << whose;
}

/// Returns the rows' places, in no particular order.
static DeviceArray<int32_t> placesOf(const std::vector<StepRow> &rows,
                                     int32_t capacity, int32_t places) {
  DeviceArray<int32_t> result{size_t(capacity)};
  int32_t next = 0;
  for (size_t row = rows.size(); row-- > 0;) {
    int32_t spans = spansOf(rows[row].position);
    bool fits = next + spans <= places;
    result[row] = fits ? next : -1;
    next += fits ? spans : 0;
  }
  return result;
}

/// Expects that the places of rows in tiles are empty.
static void expectNoPartials(const std::vector<StepRow> &rows,
                             const std::vector<bool> &inTiles,
                             const AttendArguments &arguments) {
  const auto floats = arguments.heads * spanFloats(cacheDim(arguments.headDim));
  size_t wrong = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (!inTiles[row])
      continue;
    const int32_t place = arguments.spanPlaces[row];
    const int32_t first =
        place < 0 ? arguments.placeCount + int32_t(row) : place;
    const int32_t count = place < 0 ? 1 : spansOf(rows[row].position);
    const float *partials = arguments.partials + int64_t{first} * floats;
    wrong += !std::all_of(partials, partials + count * floats, isUntouched);
  }
  EXPECT_EQ(wrong, 0u) << "rows in tiles have partial results";
}

std::vector<float> CacheModel::attend(const SluiceAttention &params,
                                      const std::vector<StepRow> &rows,
                                      const std::vector<float> &q,
                                      const AttendWay &way) {
  int32_t capacity = way.capacity == 0 ? int32_t(rows.size()) : way.capacity;
  AttendArguments arguments = argumentsOf(params);
  int32_t heads = arguments.heads, group = heads / kvHeads;
  DeviceRows device(rows, capacity);
  DeviceArray<float> queries(q);
  DeviceArray<float> out(size_t(capacity * heads * headDim));
  DeviceArray<float> slopes;
  if (params.alibiSlopes)
    slopes = DeviceArray<float>(std::vector<float>(
        params.alibiSlopes, params.alibiSlopes + params.heads));
  arguments.alibiSlopes = slopes.data();
  DeviceArray<int32_t> spanPlaces = placesOf(rows, capacity, way.places);
  for (size_t row = 0; row < rows.size(); ++row)
    if (spanPlaces[row] >= 0)
      arguments.placeCount = std::max(
          arguments.placeCount, spanPlaces[row] + spansOf(rows[row].position));
  arguments.spanPlaces = spanPlaces.data();
  DeviceArray<float> partials(
      attendPartialFloats(dim, heads, capacity, arguments.placeCount));
  DeviceArray<uint32_t> tickets(
      std::vector<uint32_t>(size_t(attendTickets(heads, kvHeads, capacity))));
  arguments.tickets = tickets.data();
  DeviceArray<uint32_t> tailTicket(std::vector<uint32_t>{0});
  arguments.tail = way.tail;
  if (way.tail.count > 0) {
    arguments.tail.ticket = tailTicket.data();
    arguments.tail.norms[0].x = out.data();
  }
  arguments.q = queries.data();
  arguments.out = out.data();
  arguments.rows = device.table(pages, pagesPerSequence);
  arguments.partials = partials.data();
  arguments.skipChunks = way.tiles;
  LateInputs late;
  device.hideIn(late);
  late.hide(pages);
  late.hide(bytes);
  late.hide(queries);
  late.hide(partials);
  late.hide(spanPlaces);
  late.hide(tickets);
  late.hide(tailTicket);
  late.hide(out);

  emulator::LaunchOptions options;
  options.order = way.order;
  options.resident = way.order == emulator::Order::Shuffled ? 3 : 1;
  options.threads = uint32_t(attendThreads(dim));
  const size_t rowFloats = size_t(heads * headDim);
  std::vector<bool> inTiles(rows.size());
  std::vector<float> ofTiles;
  if (way.tiles) {
    int32_t tile = tileRows(dim, group);
    inTiles = rowsInTiles(rows, size_t(tile));
    options.grid = {uint32_t(divideUp(capacity, tile)), uint32_t(kvHeads), 1};
    options.sharedBytes = size_t(tileSharedBytes(dim));
    late.expectLaunch(options, kernelOf(kind, dim, true), arguments);
    expectRows(out, rowFloats, inTiles, "in tiles");
    ofTiles = out.values();
    std::memset(out.data(), 0xff, out.bytes());
  }
  const int32_t rowBlocks = way.rowBlocks == 0 ? capacity : way.rowBlocks;
  options.grid = {uint32_t(rowBlocks * divideUp(group, warpPairs)),
                  way.spanBlocks, uint32_t(kvHeads)};
  options.sharedBytes = size_t(attendSharedBytes(dim));
  late.expectLaunch(options, kernelOf(kind, dim, false), arguments);
  expectNoPartials(rows, inTiles, arguments);
  for (size_t i = 0; i < tickets.size(); ++i)
    EXPECT_EQ(tickets[i], 0u);
  EXPECT_EQ(tailTicket[0], 0u);
  std::vector<bool> others = inTiles;
  others.flip();
  expectRows(out, rowFloats, others, "in no tile");
  std::vector<float> result;
  for (size_t i = 0; i < rows.size() * rowFloats; ++i)
    result.push_back(inTiles[i / rowFloats] ? ofTiles[i] : out[i]);
  return result;
}

std::vector<float> CacheModel::stored(bool values, int32_t sequence,
                                      int32_t tokens) const {
  std::vector<float> result;
  int32_t half = pageHalfBytes(kind, dim);
  for (int32_t position = 0; position < tokens; ++position)
    for (int32_t head = 0; head < kvHeads; ++head) {
      const uint8_t *block =
          bytes.data() + (size_t(pageOf(sequence, position)) * size_t(kvHeads) +
                          size_t(head)) *
                             size_t(pageHeadBytes(kind, dim));
      int32_t slot = position % pageTokens;
      const uint8_t *token =
          block + (values ? half : 0) + slot * dim * cacheNumberBytes(kind);
      float scale = 1;
      if (kind == CacheKind::E4M3)
        std::memcpy(&scale, block + 2 * half + (values ? 128 : 0) + slot * 4,
                    4);
      for (int32_t d = 0; d < headDim; ++d) {
        uint16_t bits;
        std::memcpy(&bits, token + 2 * d, 2);
        result.push_back(kind == CacheKind::E4M3 ? e4m3ToFloat(token[d]) * scale
                         : kind == CacheKind::F16 ? halfToFloat(bits)
                                                  : bfloatToFloat(bits));
      }
    }
  return result;
}
