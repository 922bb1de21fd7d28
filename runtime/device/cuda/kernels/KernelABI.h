//===- KernelABI.h - the interface of the CUDA kernels --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel takes one structure of arguments by value. It has the same name,
// sluice_..., in the fat binary and in the emulator. Kernels and host code are
// built from the text of this header. All kernels follow these rules:
//
// Counts. A step is launched as a graph for a capacity of rows. The numbers of
// rows and outputs that there are lie in device memory (`rowCount`, an int32
// that a checkpoint may lower), and kernels read them there. Blocks beyond the
// count return at once; if it is 0, all do (but the first blocks of a linear
// layer have asked for weights by then). No kernel waits for the host. 0 <=
// rows <= capacity.
//
// Invariance. The bits of a row's result depend on that row, on the cache of
// its sequence and on shapes; never on other rows, on their number, on the
// capacity, on the grid, or on the order in which blocks run. If a sum is split
// over blocks, only shapes (in attention: positions) determine where; partial
// sums go to memory, and one block adds them in a fixed order. There are no
// floating-point atomics. Sums of integers are the same in any order; threads
// that add to one together (incrementShared) do not learn their place in that
// order.
//
// Values are dense rows of f32, x[row][N]. Products take operand rows, which
// sluice_operand_rows makes of values by the kind of the weight:
//
//   f32                 f32
//   bf16                bf16
//   all others          f16, of x[row] * 2^-e: the largest magnitude is in
//                       [2^14, 2^15), or below that if e = -100, the minimum.
//                       2^e is stored beside the row, and the sums are
//                       multiplied by it: exact, unless that overflows or is
//                       subnormal
//
// An operand row has operandFeatures(N) elements; those from N on are zeros.
//
// Memory. All pointers are to device memory unless a comment says host. All
// arrays are aligned to 256 bytes, and all structures of pages and tiles are
// multiples of 16 bytes, since most kernels load 16 bytes at a time. The caller
// owns all memory and keeps it until the graph has run. Outputs do not overlap
// inputs unless a comment says so. Rows beyond the count are neither read nor
// written.
//
// Shared memory is dynamic. It may exceed the 48 KiB that a kernel has by
// default: the host allows more (cuFuncSetAttribute) for each kernel whose
// ...SharedBytes() returns more. linear_<kind>_<rows> and attend_... take at
// most 99 KiB, which every chip from sm_80 on has.
//
// Dependent launch. Before waitForPrior() a kernel reads only weights and its
// arguments, and writes no global memory. So the kernel after the next may
// overwrite the buffers of this one. Each kernel lets its dependents start as
// soon as it runs, and every block waits for the kernel before it.
//
// Kernels report no errors: the host checks shapes before it launches them.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_KERNELABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_KERNELABI_H

#include <stddef.h>
#include <stdint.h>

namespace sluice::cuda {

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// The layout of a weight in device memory: tiles of 16 output columns by
/// unitFeatures() input features, tile[column tile][unit]. A tile is the first
/// factor of mma.m16n8k16, lane by lane, so that a warp reads it from the first
/// to the last byte, 16 bytes a lane. Columns and features beyond the weight's
/// are zeros. weights/WeightLayout.h makes the layout. Below, g = lane / 4, t =
/// lane % 4, p numbers the products of 16 features each, and the eight weights
/// of a lane in a product are in the order of `a` of Primitives.cuh:
///
///   kind   planes of a tile, in bytes                        bytes/weight
///   F32    f32 [8][lane][4]: column lane % 16, features
///          8j + 4 * (lane / 16) ..                           4
///   F16    [p 8][lane][8 weights]                            2
///   BF16   the same                                          2
///   E4M3   [p/2 4][lane][p%2][8 weights]; then f32 scales
///          [column]                                          1.03125
///   Q8_0   the same planes of quant + 128; then f16 scales
///          [column][4 blocks]                                1.0625
///   Q4_0   quants (0..15) in 32-bit words [p/4 2][lane][p%4]:
///          weight i in bits 4 * (i / 2) + 16 * (i % 2);
///          scales as Q8_0                                    0.5625
///   Q4_K   quants as Q4_0; then for each column d f16, dmin
///          f16, 4 scales and 4 minima u8                     0.59375
///   Q6_K   low 4 bits as Q4_0; high 2 bits in words [lane][p/2]:
///          weight i in bits 2 * (i / 2) + 8 * (p % 2) +
///          16 * (i % 2); 8 scales i8 of each column; d f16
///          [column]                                          0.828125
enum class WeightKind : uint8_t {
  F32,
  F16,
  BF16,
  E4M3,
  Q8_0,
  Q4_0,
  Q4_K,
  Q6_K
};

constexpr int weightKindCount = 8;
constexpr int32_t tileColumns = 16;

/// Returns the input features of a tile.
constexpr int32_t unitFeatures(WeightKind kind) {
  return kind == WeightKind::F32 ? 64 : 128;
}

constexpr int32_t tileBytes(WeightKind kind) {
  switch (kind) {
  case WeightKind::F32:
  case WeightKind::F16:
  case WeightKind::BF16:
    return 4096;
  case WeightKind::E4M3:
    return 2048 + 64;
  case WeightKind::Q8_0:
    return 2048 + 128;
  case WeightKind::Q4_0:
    return 1024 + 128;
  case WeightKind::Q4_K:
    return 1024 + 192;
  case WeightKind::Q6_K:
    return 1024 + 512 + 160;
  }
  return 0;
}

/// The output column to which column `column` of tile `tile` belongs, which may
/// be beyond the end of the weight. In a gated weight, whose tiles are eight
/// columns of the gate and the same eight of its partner, `fromPartner` says to
/// which of the two it belongs.
struct TileColumn {
  int64_t column;
  bool fromPartner;
};
constexpr TileColumn tileColumn(bool gated, int64_t tile, int32_t column) {
  constexpr int32_t half = tileColumns / 2;
  if (!gated)
    return {tile * tileColumns + column, false};
  return {tile * half + column % half, column >= half};
}

constexpr int32_t divideUp(int32_t a, int32_t b) {
  return a / b + (a % b != 0);
}

constexpr int32_t unitsOf(WeightKind kind, int32_t inFeatures) {
  return divideUp(inFeatures, unitFeatures(kind));
}

/// Operand rows consist of whole units of this many elements.
constexpr int32_t operandUnit = 128;

/// Returns the elements of an operand row of `features`.
constexpr int32_t operandFeatures(int32_t features) {
  return divideUp(features, operandUnit) * operandUnit;
}

/// The blocks of an f16 operand row, whose sums are stored beside it. In a
/// block, adjacent numbers are added in pairs, then adjacent pairs, and so on.
constexpr int32_t operandBlock = 32;
constexpr int32_t operandBlocks(int32_t features) {
  return operandFeatures(features) / operandBlock;
}

/// The exponent of the largest number of an f16 row, and the minimum exponent
/// of its scale.
constexpr int32_t operandExponent = 14, minScaleExponent = -100;

//===----------------------------------------------------------------------===//
// Operand rows
//===----------------------------------------------------------------------===//

enum class OperandKind : int32_t { F32, BF16, F16 };

constexpr OperandKind operandKind(WeightKind kind) {
  return kind == WeightKind::F32    ? OperandKind::F32
         : kind == WeightKind::BF16 ? OperandKind::BF16
                                    : OperandKind::F16;
}

/// Threads for a row. Each handles eight numbers at a time and keeps up to four
/// times eight in registers.
constexpr int32_t maxOperandThreads = 512;
constexpr int32_t operandThreads(int32_t features) {
  int32_t threads = divideUp(operandFeatures(features) / 8, 32) * 32;
  return threads < maxOperandThreads ? threads : maxOperandThreads;
}
constexpr int32_t operandSharedBytes = maxOperandThreads / 32 * 4;

/// sluice_operand_rows: blocks of operandThreads(features), grid (rowCapacity),
/// operandSharedBytes of shared memory. Reads x; writes operand rows and, for
/// F16, their scales and sums.
struct OperandArguments {
  const float *x; ///< [row][features]
  void *operand;  ///< [row][operandFeatures(features)]
  float *scales;  ///< F16: [row], 2^e
  /// F16, or null: sums[row][operandBlocks(features)] of the operand's numbers,
  /// by which the minima of Q4_K are multiplied.
  float *sums;
  const int32_t *rowCount;
  int32_t features;
  OperandKind kind;
};

//===----------------------------------------------------------------------===//
// What a launch does at its end
//===----------------------------------------------------------------------===//

enum class Norm : int32_t { None, Rms, Layer };

/// Rows that are normalised, stored, and made operand rows:
///
///   Rms    y = x * inverse * weight, inverse = 1 / sqrt(mean(x^2) + epsilon)
///   Layer  y = (x - mean) * inverse * weight + bias, with the mean square of
///          x - mean in place of that of x
///
/// The bits are those of the generated kernels (SluiceToCUDA/BlockColumns.cpp)
/// for the same ops, whose blocks have `threads` threads.
struct NormArguments {
  const float *x; ///< [row][features]
  const float *weight;
  const float *bias; ///< null if there is none
  float *y;          ///< [row][features], or null
  void *operand;     ///< as OperandArguments has it, or null
  float *scales;
  float *sums;
  float epsilon;
  int32_t features; ///< a multiple of four
  int32_t threads;  ///< with a norm: a power of two from 32 to maxNormThreads
  Norm norm;
  OperandKind kind;
};

constexpr int32_t maxNormThreads = 1024;

/// What the last block of a launch for one row does for that row, once all
/// blocks have written their parts of it. The other blocks have then read all
/// that they read, so what a tail writes may overlap the launch's inputs; the
/// inputs and outputs of one norm do not overlap.
struct RowTail {
  static constexpr int32_t maxNorms = 2;
  /// A ticket, which is 0 before and after the launch; null if the launch has
  /// no tail.
  uint32_t *ticket;
  int32_t count;
  /// One after the other. A later one may read what an earlier one has written.
  NormArguments norms[maxNorms];
};

/// Bytes of shared memory that a tail needs: a number for each warp of
/// `threads` threads, and a ticket.
constexpr int32_t tailTicketPlace = maxNormThreads / 32 * 4;
constexpr int32_t tailSharedBytes = tailTicketPlace + 16;

//===----------------------------------------------------------------------===//
// Linear layers
//===----------------------------------------------------------------------===//

/// How the sums of a tile are combined. In a gated weight, tiles are 8 columns
/// of the gate, then the same 8 of its partner, and out = act(gate) * partner.
enum class Gate : int32_t { None, Silu, GeluTanh };

constexpr int32_t linearWarps = 4;
constexpr int32_t linearThreads = 32 * linearWarps;

/// What a launch computes of a weight: the columns of the tiles
/// [firstTile, firstTile + tiles). For the rows and the columns c it computes
///
///   v[row][c] = x[row] . weight[c] + bias of c
///   y[row][c - 16 * firstTile] = v[row][c] + residual[row][the same column]
///
/// or, if gated, with half as many columns,
///
///   y[row][8 * tile + i] =
///       act(v[row][16 * tile + i]) * v[row][16 * tile + 8 + i] + residual
///
/// Rows of y and residual are outColumns numbers apart.
struct LinearColumns {
  const uint8_t *weight; ///< tile 0, unit 0
  /// Null, or f32[out], indexed by the column of the weight (gated: of the
  /// gate), not of the tile. partnerBias is the same for the partner; it is
  /// null if bias is.
  const float *bias;
  const float *partnerBias;
  const float *residual; ///< null, or of the shape of y; may be y
  float *y;
  /// Columns that are written of the tiles: 16 (gated: 8) of each whole tile,
  /// fewer at the end of the weight.
  int32_t outColumns;
  int32_t firstTile;
  int32_t tiles;
  int32_t splits; ///< linearSplits() of the whole weight
  Gate gate;
};

/// The rows of a launch, and memory that its blocks share.
struct LinearRows {
  const void *x;          ///< operand rows
  const float *rowScales; ///< F16 operands: as sluice_operand_rows wrote them
  /// Q4_K: block sums, as sluice_operand_rows wrote them.
  const float *blockSums;
  /// If features are split: linearPartialFloats().
  float *partials;
  /// If features are split: one ticket for each block (x, z) of the grid, which
  /// is 0 before and after the launch.
  uint32_t *tickets;
  const int32_t *rowCount;
  int32_t inFeatures;
  /// For sluice_linear_tile_*: from 2 to linearTileMaxStages.
  int32_t stages;
};

/// sluice_linear_tile_<kind> is for prompts and exists for all kinds except
/// f32: blocks of linearTileThreads, grid (divideUp(rowCapacity,
/// linearTileRows), divideUp(tiles, linearTileColumnTiles)),
/// linearTileStageBytes(kind) of shared memory for each of its `stages`. A
/// block goes through all parts of the features; it does not use partials and
/// tickets.
struct LinearArguments {
  LinearRows rows;
  LinearColumns columns;
};

/// sluice_linear_<kind>_<rows>, with the kinds f32 f16 bf16 e4m3 q8_0 q4_0 q4_k
/// q6_k and 8, 16, 32 or 64 rows a block: blocks of linearThreads threads, grid
///
///   (linearBlocks(arguments), linearParts(arguments),
///    divideUp(rowCapacity, rows)),
///
/// linearSharedBytes(kind, rows) of shared memory. Computes the columns of one
/// or several weights of a kind with the same rows. The bits are those of a
/// launch for each weight, those of all tiles at once, and the same from each
/// kernel of a kind.
///
/// The kernels with 8 rows a block may have a tail.
struct JoinedLinearArguments {
  static constexpr int32_t maxWeights = 4;
  LinearRows rows;
  LinearColumns columns[maxWeights];
  int32_t weights;
  RowTail tail;
};

/// Returns how many blocks share the columns of all weights of a launch of
/// sluice_linear_<kind>_<rows>.
constexpr int32_t linearBlocks(const JoinedLinearArguments &arguments) {
  int32_t blocks = 0;
  for (int32_t i = 0; i < arguments.weights; ++i)
    blocks += divideUp(arguments.columns[i].tiles, linearWarps);
  return blocks;
}

/// Returns into how many parts the features of a launch are split. A weight
/// with fewer parts than others has none of the last ones.
constexpr int32_t linearParts(const JoinedLinearArguments &arguments) {
  int32_t parts = 1;
  for (int32_t i = 0; i < arguments.weights; ++i)
    parts = arguments.columns[i].splits > parts ? arguments.columns[i].splits
                                                : parts;
  return parts;
}

/// Returns into how many parts the features of a weight are split: enough for
/// blocks to occupy the largest chips, with at least 512 features (f32: 256) a
/// part. It depends only on the shape of the weight, and of a gated weight only
/// on that of the gate, so that a column's sum is the same with and without a
/// partner.
constexpr int32_t linearSplits(WeightKind kind, int32_t outFeatures,
                               int32_t inFeatures) {
  constexpr int32_t blocks = 512, minUnits = 4;
  int32_t groups = divideUp(divideUp(outFeatures, tileColumns), linearWarps);
  int32_t units = unitsOf(kind, inFeatures);
  int32_t max = units / minUnits > 1 ? units / minUnits : 1;
  int32_t wanted = divideUp(blocks, groups);
  int32_t splits = wanted < max ? wanted : max;
  return divideUp(units, divideUp(units, splits));
}

/// Bytes of a row of a unit in shared memory: 256, and 16 of padding so that
/// eight rows lie in different banks.
constexpr int32_t unitRowBytes = 256 + 16;

constexpr int32_t linearStages(int32_t rows) { return rows < 64 ? 4 : 3; }

constexpr int32_t linearStageBytes(WeightKind kind, int32_t rows) {
  int32_t sums =
      kind == WeightKind::Q4_K ? 4 * rows * int32_t(sizeof(float)) : 0;
  return linearWarps * tileBytes(kind) + rows * unitRowBytes + sums;
}

constexpr int32_t linearSharedBytes(WeightKind kind, int32_t rows) {
  return linearStages(rows) * linearStageBytes(kind, rows);
}
static_assert(linearSharedBytes(WeightKind::Q4_0, 8) >= tailSharedBytes);

/// Blocks of sluice_linear_<kind>_<rows> that have registers on a
/// multiprocessor at a time, at least. For kinds with small tiles, shared
/// memory would leave room for more blocks than registers do without a bound.
constexpr int32_t linearResidentBlocks(WeightKind kind, int32_t rows) {
  if (rows != 8)
    return 1;
  return kind == WeightKind::Q4_0                               ? 7
         : kind == WeightKind::Q4_K || kind == WeightKind::Q6_K ? 5
                                                                : 1;
}

constexpr int32_t linearTileRows = 128;
constexpr int32_t linearTileColumnTiles = 8;
constexpr int32_t linearTileWarps = 8;
constexpr int32_t linearTileThreads = 32 * linearTileWarps;
constexpr int32_t linearTileMaxStages = 4;

constexpr int32_t linearTileStageBytes(WeightKind kind) {
  int32_t sums = kind == WeightKind::Q4_K
                     ? 4 * linearTileRows * int32_t(sizeof(float))
                     : 0;
  return linearTileColumnTiles * tileBytes(kind) +
         linearTileRows * unitRowBytes + sums;
}

/// Returns how many stages fit on a chip that gives a block `sharedBytes`.
/// Below 2 the chip cannot run the kernel.
constexpr int32_t linearTileStages(WeightKind kind, int32_t sharedBytes) {
  int32_t stages = sharedBytes / linearTileStageBytes(kind);
  return stages < linearTileMaxStages ? stages : linearTileMaxStages;
}

/// Returns the floats of the partial sums of a launch whose grid is `blocks` by
/// `parts` by as many as have the capacity with `rows` rows each.
constexpr size_t linearPartialFloats(WeightKind kind, int32_t blocks,
                                     int32_t parts, int32_t rowCapacity,
                                     int32_t rows) {
  size_t all =
      size_t(blocks) * size_t(divideUp(rowCapacity, rows)) * size_t(parts);
  int32_t each = rows / 2 * (kind == WeightKind::F32 ? 2 : 1);
  return all * linearThreads * size_t(each);
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_KERNELABI_H
