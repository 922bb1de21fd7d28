//===- PackPanels.cpp - packs stored weights into panels ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/linear/ActivationRows.h"
#include "runtime/device/cpu/linear/PackedLayout.h"
#include "runtime/device/cpu/linear/PackedWeight.h"
#include "runtime/formats/Blocks.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::cpu;

namespace {

/// The 16 rows of a panel in the format that the layer computes in. Null for
/// columns beyond the end of the weight.
struct PanelRows {
  const uint8_t *row[panelColumns];
};

template <typename Block> Block readBlock(const uint8_t *row, int64_t index) {
  Block block;
  std::memcpy(&block, row + size_t(index) * sizeof(Block), sizeof(Block));
  return block;
}

/// Vectors of 16 bytes, which every processor supports.
template <typename Element> struct Lanes {
  static constexpr int count = 16 / sizeof(Element);
  using Vector __attribute__((vector_size(16))) = Element;
};

/// Interleaves elements of `a` and `b`, from their first or their second
/// halves.
template <int... i>
auto interleaveHalves(auto a, auto b, bool second,
                      std::integer_sequence<int, i...>) {
  constexpr int lanes = sizeof...(i);
  return second ? __builtin_shufflevector(
                      a, b, (lanes / 2 + i / 2 + i % 2 * lanes)...)
                : __builtin_shufflevector(a, b, (i / 2 + i % 2 * lanes)...);
}

/// Transposes a square tile: row i is read from from[i] and written to column i
/// of the tile at `to`, whose rows are panelColumns elements apart.
template <typename Element>
void transposeTile(const uint8_t *const *from, uint8_t *to) {
  constexpr int lanes = Lanes<Element>::count;
  using Vector = typename Lanes<Element>::Vector;
  Vector tile[lanes], half[lanes];
  for (int i = 0; i < lanes; ++i)
    std::memcpy(&tile[i], from[i], sizeof(Vector));
  // Each pass interleaves the two halves of all rows taken together.
#pragma clang loop unroll(full)
  for (int pass = 1; pass < lanes; pass *= 2) {
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i)
      half[i] = interleaveHalves(tile[i / 2], tile[lanes / 2 + i / 2], i % 2,
                                 std::make_integer_sequence<int, lanes>());
    std::copy(half, half + lanes, tile);
  }
  for (int i = 0; i < lanes; ++i)
    std::memcpy(to + i * panelColumns * sizeof(Element), &tile[i],
                sizeof(Vector));
}

/// Writes `count` elements of each column, taking one from each column in turn.
template <typename Element>
void interleaveColumns(const uint8_t *const (&columns)[panelColumns],
                       int64_t count, uint8_t *to) {
  constexpr int lanes = Lanes<Element>::count;
  constexpr size_t size = sizeof(Element);
  int64_t k = 0;
  for (; k + lanes <= count; k += lanes)
    for (int64_t first = 0; first < panelColumns; first += lanes) {
      const uint8_t *from[lanes];
      for (int i = 0; i < lanes; ++i)
        from[i] = columns[first + i] + k * size;
      transposeTile<Element>(from, to + (k * panelColumns + first) * size);
    }
  for (; k < count; ++k)
    for (int64_t column = 0; column < panelColumns; ++column)
      std::memcpy(to + (k * panelColumns + column) * size,
                  columns[column] + k * size, size);
}

/// Writes what a block has in every column, given as the bytes of each column:
/// elements of `Element` from each column in turn.
template <typename Element, size_t bytes>
void placeColumns(const uint8_t (&columns)[panelColumns][bytes],
                  uint8_t *quants) {
  const uint8_t *from[panelColumns];
  std::copy(columns, columns + panelColumns, from);
  interleaveColumns<Element>(from, bytes / sizeof(Element), quants);
}

void placeHalf(uint16_t half, uint8_t *halves, int64_t column) {
  std::memcpy(halves + 2 * column, &half, sizeof(half));
}

/// Unpacks the quants of a q5_0 or q5_1 block.
template <typename Block>
void fiveBitQuants(const Block &block, uint8_t (&q)[32]) {
  for (int i = 0; i < 16; ++i) {
    int lowBit = block.qh[i / 8] >> (i % 8) & 1;
    int highBit = block.qh[2 + i / 8] >> (i % 8) & 1;
    q[i] = uint8_t((block.qs[i] & 15) + 16 * lowBit);
    q[i + 16] = uint8_t((block.qs[i] >> 4) + 16 * highBit);
  }
}

/// Packs a block's 5-bit quants in the layout of a column in PackedLayout.h.
void squeezeFiveBits(const uint8_t (&q)[32], uint8_t *to) {
  for (int i = 0; i < 4; ++i) {
    int q5 = q[20 + i], q6 = q[24 + i], q7 = q[28 + i];
    int above[5] = {q5 & 7, q5 >> 3 | (q7 >> 3 & 1) << 2, q6 & 7,
                    q6 >> 3 | q7 >> 4 << 2, q7 & 7};
    for (int j = 0; j < 5; ++j)
      to[4 * j + i] = uint8_t(q[4 * j + i] | above[j] << 5);
  }
}

/// Packs four times `size` numbers of 6 bits into three times as many bytes:
/// the bits of the last quarter are above the others.
void squeezeSixBits(const uint8_t *numbers, int size, uint8_t *to) {
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < size; ++i) {
      int last = numbers[3 * size + i];
      to[size * j + i] =
          uint8_t(numbers[size * j + i] | (last >> 2 * j & 3) << 6);
    }
}

// packBlock(block, q, scales, column) packs one block of 32 of one column, for
// the formats whose blocks have 32 elements. It writes quants to `q` in the
// layout of a column in PackedLayout.h. `scales` are those of the block.

void packBlock(const BlockQ80 &block, uint8_t (&q)[32], uint8_t *scales,
               int64_t column) {
  for (int i = 0; i < 32; ++i)
    q[i] = uint8_t(block.qs[i]) ^ 0x80;
  placeHalf(block.d, scales, column);
}

void packBlock(const BlockQ50 &block, uint8_t (&q)[20], uint8_t *scales,
               int64_t column) {
  uint8_t quants[32];
  fiveBitQuants(block, quants);
  squeezeFiveBits(quants, q);
  placeHalf(block.d, scales, column);
}

void packBlock(const BlockQ40 &block, uint8_t (&q)[16], uint8_t *scales,
               int64_t column) {
  std::memcpy(q, block.qs, sizeof(q));
  placeHalf(block.d, scales, column);
}

void packBlock(const BlockQ41 &block, uint8_t (&q)[16], uint8_t *scales,
               int64_t column) {
  std::memcpy(q, block.qs, sizeof(q));
  placeHalf(block.d, scales, column);
  placeHalf(block.m, scales + 32, column);
}

void packBlock(const BlockQ51 &block, uint8_t (&q)[20], uint8_t *scales,
               int64_t column) {
  uint8_t quants[32];
  fiveBitQuants(block, quants);
  squeezeFiveBits(quants, q);
  placeHalf(block.d, scales, column);
  placeHalf(block.m, scales + 32, column);
}

template <PackedKind kind, typename Block>
void packBlocks(const PanelRows &rows, int64_t cols, uint8_t *panel) {
  constexpr PackedLayout layout = packedLayout(kind);
  constexpr int scaleBytes = layout.hasMin ? 64 : 32;
  for (int64_t b = 0; b < cols / activationBlock; ++b) {
    uint8_t *group = panel + b / layout.groupBlocks * layout.groupBytes;
    int64_t within = b % layout.groupBlocks;
    uint8_t *quants = group + within * layout.blockBytes;
    uint8_t *scales = group + layout.scalesAt() + within * scaleBytes;
    uint8_t q[panelColumns][layout.blockBytes / panelColumns] = {};
    for (int64_t column = 0; column < panelColumns; ++column)
      if (rows.row[column])
        packBlock(readBlock<Block>(rows.row[column], b), q[column], scales,
                  column);
    placeColumns<uint32_t>(q, quants);
  }
}

// packSuperBlock(block, q, scales, column) packs one column of a block that is
// a whole group. It writes the quants to `q`, in blocks of 32.

/// Writes the scales of a q4_k or q5_k block of 256, a byte each.
template <typename Block>
void placeSubScales(const Block &block, uint8_t *scales, int64_t column) {
  placeHalf(block.d, scales, column);
  placeHalf(block.dmin, scales + 32, column);
  for (int sub = 0; sub < 8; ++sub) {
    SubScale s = kSubScale(block.scales, sub);
    scales[64 + 32 * sub + column] = s.scale;
    scales[64 + 32 * sub + 16 + column] = s.min;
  }
}

void packSuperBlock(const BlockQ4K &block, uint8_t (&q)[128], uint8_t *scales,
                    int64_t column) {
  placeSubScales(block, scales, column);
  // 32 bytes contain the low and the high nibbles of two blocks of 32.
  for (int pair = 0; pair < 4; ++pair) {
    const uint8_t *qs = block.qs + pair * 32;
    uint8_t *low = q + pair * 32, *high = low + 16;
    for (int i = 0; i < 16; ++i) {
      low[i] = uint8_t((qs[i] & 15) | (qs[i + 16] & 15) << 4);
      high[i] = uint8_t(qs[i] >> 4 | (qs[i + 16] & 0xf0));
    }
  }
}

void packSuperBlock(const BlockQ5K &block, uint8_t (&q)[160], uint8_t *scales,
                    int64_t column) {
  placeSubScales(block, scales, column);
  for (int sub = 0; sub < 8; ++sub) {
    const uint8_t *qs = block.qs + sub / 2 * 32;
    int shift = sub % 2 * 4;
    uint8_t quants[32];
    for (int i = 0; i < 32; ++i)
      quants[i] =
          uint8_t((qs[i] >> shift & 15) | ((block.qh[i] >> sub & 1) << 4));
    squeezeFiveBits(quants, q + 20 * sub);
  }
}

void packSuperBlock(const BlockQ6K &block, uint8_t (&q)[192], uint8_t *scales,
                    int64_t column) {
  placeHalf(block.d, scales, column);
  for (int sub = 0; sub < 16; ++sub)
    scales[32 + 16 * sub + column] = uint8_t(block.scales[sub]);
  for (int sub = 0; sub < 8; ++sub) {
    uint8_t quants[32];
    for (int i = 0; i < 32; ++i)
      quants[i] = q6KElement(block, 32 * sub + i);
    for (int half = 0; half < 2; ++half)
      squeezeSixBits(quants + 16 * half, 4, q + 24 * sub + 12 * half);
  }
}

void packSuperBlock(const BlockE4M3 &block, uint8_t (&numbers)[128],
                    uint8_t *scales, int64_t column) {
  std::memcpy(scales + 4 * column, &block.d, sizeof(block.d));
  std::memcpy(numbers, block.qs, sizeof(numbers));
}

/// `Element` is the unit of adjacent bytes of a column.
template <PackedKind kind, typename Block, typename Element>
void packSuperBlocks(const PanelRows &rows, int64_t cols, uint8_t *panel) {
  constexpr PackedLayout layout = packedLayout(kind);
  for (int64_t b = 0; b < cols / (layout.groupBlocks * activationBlock); ++b) {
    uint8_t *group = panel + b * layout.groupBytes;
    uint8_t q[panelColumns][layout.scalesAt() / panelColumns] = {};
    uint8_t scales[64 + 8 * 32] = {};
    static_assert(sizeof(scales) >= layout.groupBytes - layout.scalesAt());
    for (int64_t column = 0; column < panelColumns; ++column)
      if (rows.row[column])
        packSuperBlock(readBlock<Block>(rows.row[column], b), q[column], scales,
                       column);
    placeColumns<Element>(q, group);
    uint8_t *to = group + layout.scalesAt();
    if constexpr (layout.hasSqueezedSubScales()) {
      std::memcpy(to, scales, 64);
      squeezeSixBits(scales + 64, 64, to + 64);
    } else {
      std::memcpy(to, scales, layout.groupBytes - layout.scalesAt());
    }
  }
}

template <typename Element>
void packElements(const PanelRows &rows, int64_t cols, uint8_t *panel) {
  // Works on a few features at a time, so that a few zeros can stand for those
  // of a missing column.
  constexpr int64_t stretch = 64;
  static constexpr uint8_t zeros[stretch * sizeof(Element)] = {};
  for (int64_t from = 0; from < cols; from += stretch) {
    const uint8_t *columns[panelColumns];
    for (int64_t column = 0; column < panelColumns; ++column)
      columns[column] =
          rows.row[column] ? rows.row[column] + from * sizeof(Element) : zeros;
    interleaveColumns<Element>(columns, std::min(stretch, cols - from),
                               panel + from * panelColumns * sizeof(Element));
  }
}

void packPanel(Format format, const PanelRows &rows, int64_t cols,
               uint8_t *panel) {
  switch (format) {
  case Format::F32:
    return packElements<uint32_t>(rows, cols, panel);
  case Format::F16:
  case Format::BF16:
    return packElements<uint16_t>(rows, cols, panel);
  case Format::Q8_0:
    return packBlocks<PackedKind::Q8, BlockQ80>(rows, cols, panel);
  case Format::Q5_0:
    return packBlocks<PackedKind::Q5, BlockQ50>(rows, cols, panel);
  case Format::Q4_0:
    return packBlocks<PackedKind::Q4, BlockQ40>(rows, cols, panel);
  case Format::Q5_1:
    return packBlocks<PackedKind::Q5Affine, BlockQ51>(rows, cols, panel);
  case Format::Q4_1:
    return packBlocks<PackedKind::Q4Affine, BlockQ41>(rows, cols, panel);
  case Format::Q5_K:
    return packSuperBlocks<PackedKind::Q5K, BlockQ5K, uint32_t>(rows, cols,
                                                                panel);
  case Format::Q4_K:
    return packSuperBlocks<PackedKind::Q4K, BlockQ4K, uint32_t>(rows, cols,
                                                                panel);
  case Format::Q6_K:
    return packSuperBlocks<PackedKind::Q6K, BlockQ6K, uint32_t>(rows, cols,
                                                                panel);
  case Format::E4M3:
    return packSuperBlocks<PackedKind::E4M3, BlockE4M3, uint8_t>(rows, cols,
                                                                 panel);
  }
}

/// Finds, transposes and converts the rows of a panel. Keeps converted rows
/// until the next panel.
class RowReader {
public:
  RowReader(const LinearSpec &spec, const void *src)
      : spec(spec), src(static_cast<const uint8_t *>(src)),
        rowSize(rowBytes(spec.format, spec.inFeatures).value_or(0)) {
    bool asStored = spec.stored == spec.format && !spec.transposed;
    if (asStored)
      return;
    converted.resize(rowSize * panelColumns);
    values.resize(size_t(spec.inFeatures) *
                  (spec.transposed ? panelColumns : 1));
  }

  PanelRows read(int64_t panel) {
    int64_t first = panel * panelColumns;
    int64_t count = std::min(panelColumns, spec.outFeatures - first);
    PanelRows rows = {};
    if (converted.empty()) {
      for (int64_t i = 0; i < count; ++i)
        rows.row[i] = src + uint64_t(first + i) * rowSize;
      return rows;
    }
    if (spec.transposed)
      transpose(first, count);
    for (int64_t i = 0; i < count; ++i) {
      uint8_t *row = converted.data() + uint64_t(i) * rowSize;
      quantizeRow(spec.format, valuesOf(first + i, i), row, spec.inFeatures);
      rows.row[i] = row;
    }
    return rows;
  }

private:
  /// Computes values[column][feature] of `count` columns from `first` on.
  void transpose(int64_t first, int64_t count) {
    auto element = uint64_t(formatInfo(spec.stored).blockBytes);
    // Takes a few features at a time, so that each column is written
    // contiguously.
    constexpr int64_t stretch = 16;
    float tile[stretch][panelColumns];
    for (int64_t from = 0; from < spec.inFeatures; from += stretch) {
      int64_t features = std::min(stretch, spec.inFeatures - from);
      for (int64_t k = 0; k < features; ++k) {
        uint64_t at =
            uint64_t(from + k) * uint64_t(spec.outFeatures) + uint64_t(first);
        dequantizeRow(spec.stored, src + at * element, tile[k], count);
      }
      for (int64_t i = 0; i < count; ++i)
        for (int64_t k = 0; k < features; ++k)
          values[size_t(i * spec.inFeatures + from + k)] = tile[k][i];
    }
  }

  /// Returns the values of row `row`, which is the panel's column `column`.
  const float *valuesOf(int64_t row, int64_t column) {
    if (spec.transposed)
      return values.data() + column * spec.inFeatures;
    uint64_t stored = rowBytes(spec.stored, spec.inFeatures).value_or(0);
    dequantizeRow(spec.stored, src + uint64_t(row) * stored, values.data(),
                  spec.inFeatures);
    return values.data();
  }

  LinearSpec spec;
  const uint8_t *src;
  uint64_t rowSize;
  std::vector<uint8_t> converted;
  std::vector<float> values;
};

} // namespace

void cpu::packPanels(const LinearSpec &spec, const void *src, void *dst,
                     int64_t firstPanel, int64_t lastPanel) {
  RowReader reader(spec, src);
  uint64_t panelBytes = packedWeight(spec, dst).panelBytes;
  auto *panel = static_cast<uint8_t *>(dst);
  for (int64_t p = firstPanel; p < lastPanel; ++p, panel += panelBytes) {
    // Missing columns, missing blocks and padding are zeros.
    std::memset(panel, 0, panelBytes);
    packPanel(spec.format, reader.read(p), spec.inFeatures, panel);
  }
}
