//===- KernelABI.h - the interface of the CUDA kernels --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel takes one structure of arguments by value; it is named sluice_...,
// in the fat binary as in the emulator. Kernels and host code are built from
// this header's text. Rules of all kernels:
//
// Counts. A step is launched as a graph made for a capacity of rows. How many
// rows and outputs there are lies in device memory (`rowCount`, an int32 that a
// checkpoint may lower) and is read there: blocks beyond it return at once, and
// with 0 all do (a linear layer's first ones have asked for weights by then).
// Nothing waits for the host. 0 <= rows <= capacity.
//
// Invariance. What a kernel computes for a row depends on that row, on its
// sequence's cache and on shapes; never on other rows, on their number, on the
// capacity, on the grid, or on the order in which blocks run. Bit for bit.
// Where a sum is split over blocks, shapes (of attention: positions) alone say
// where, partial sums go to memory, and one block adds them in a fixed order.
// No floating-point atomics: sums of integers are the same in any order, and
// those that threads add to together (incrementShared) tell nobody which it
// was.
//
// Values are rows of f32, x[row][N], dense. Operands of products are rows that
// sluice_operand_rows makes of them, by the weight's kind:
//   f32                 f32
//   bf16                bf16
//   all others          f16, of x[row] * 2^-e: the largest magnitude is in
//                       [2^14, 2^15), or below for e = -100, the least. 2^e
//                       stands beside the row and is multiplied back onto the
//                       sums: exact, but where that overflows or is subnormal
// An operand row has operandFeatures(N) elements; those from N on are zeros.
//
// Memory. All pointers are to device memory but where it says host; all arrays
// are aligned to 256 bytes, and all structures of pages and tiles are multiples
// of 16 bytes: most kernels load 16 bytes at a time. The caller owns
// everything, and keeps it until the graph has run. Outputs do not overlap
// inputs but where it says so. Rows beyond the count are neither read nor
// written.
//
// Shared memory is dynamic, and may be more than the 48 KiB that a kernel has
// unasked: the host allows it (cuFuncSetAttribute) to each kernel for which the
// function that says its bytes says more. linear_<kind>_<rows> and attend_...
// take at most the 99 KiB that every chip from sm_80 on has.
//
// Dependent launch. Before waitForPrior() a kernel reads nothing but weights
// (and its arguments), and writes no global memory; so buffers may be used
// again by the next kernel but one. Each kernel lets its dependents start as
// soon as it runs, and every block waits for the kernel before.
//
// Nothing here reports errors: the host checks shapes before it launches.
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

/// How a weight lies in device memory: in tiles of 16 output columns by
/// unitFeatures() input features, tile[column tile][unit]. A tile is what
/// mma.m16n8k16 takes as its first factor, lane by lane, so that a warp reads
/// one from its first to its last byte, 16 bytes a lane. Columns and features
/// beyond the weight's are zeros. weights/WeightLayout.h makes it; with
/// g = lane / 4, t = lane % 4, the products p of 16 features each, and the
/// eight weights of a lane in a product in the order of Primitives.cuh's `a`:
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

/// Input features of a tile.
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

/// The output column (of the gate or of its partner) that column `column` of
/// tile `tile` has, which may be beyond the weight's end; `fromPartner`: of
/// which. Gated: eight columns of the gate, then the same eight of its partner.
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

/// Operand rows are whole units of so many elements.
constexpr int32_t operandUnit = 128;

/// Elements of an operand row of `features`.
constexpr int32_t operandFeatures(int32_t features) {
  return divideUp(features, operandUnit) * operandUnit;
}

/// Its blocks, of which sums stand beside an f16 row: in a block numbers are
/// added in pairs that lie side by side, these in pairs, and so on.
constexpr int32_t operandBlock = 32;
constexpr int32_t operandBlocks(int32_t features) {
  return operandFeatures(features) / operandBlock;
}

/// The exponent of an f16 row's largest number, and the least of its
/// scale.
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

/// Threads for a row: each has eight numbers at a time, and up to four times
/// eight in registers.
constexpr int32_t maxOperandThreads = 512;
constexpr int32_t operandThreads(int32_t features) {
  int32_t threads = divideUp(operandFeatures(features) / 8, 32) * 32;
  return threads < maxOperandThreads ? threads : maxOperandThreads;
}
constexpr int32_t operandSharedBytes = maxOperandThreads / 32 * 4;

/// sluice_operand_rows: blocks of operandThreads(features), grid (rowCapacity),
/// operandSharedBytes of shared memory. Reads x; writes operand rows and, for
/// F16, what stands beside them.
struct OperandArguments {
  const float *x; ///< [row][features]
  void *operand;  ///< [row][operandFeatures(features)]
  float *scales;  ///< F16: [row], 2^e
  /// F16, or null: sums[row][operandBlocks(features)], of the operand's
  /// numbers; Q4_K's minima are multiplied with them.
  float *sums;
  const int32_t *rowCount;
  int32_t features;
  OperandKind kind;
};

//===----------------------------------------------------------------------===//
// Linear layers
//===----------------------------------------------------------------------===//

/// What is done with a tile's sums. Gated: the weight's tiles are 8 columns of
/// the gate, then the same 8 of its partner; out = act(gate) * partner.
enum class Gate : int32_t { None, Silu, GeluTanh };

/// sluice_linear_<kind>_<rows>, kind as f32 f16 bf16 e4m3 q8_0 q4_0 q4_k q6_k,
/// rows a block 8, 16, 32 or 64: blocks of linearThreads threads, grid
///   (divideUp(tiles, linearWarps), splits, divideUp(rowCapacity, rows)),
/// linearSharedBytes(kind, rows) of shared memory. For the rows and columns c
/// of the tiles [firstTile, firstTile + tiles)
///   v[row][c] = x[row] . weight[c] + bias of c
///   y[row][c - 16 * firstTile] = v[row][c] + residual[row][the same]
/// or, gated, with half as many columns,
///   y[row][8 * tile + i] = act(v[row][16 * tile + i]) * v[row][16 * tile + 8 +
///   i]
///                          + residual
/// The same bits as from all tiles at once, and from any of the kernels of a
/// kind. Rows of y and residual lie outColumns(tiles...) apart.
///
/// sluice_linear_tile_<kind> is for prompts, of all kinds but f32: blocks of
/// linearTileThreads, grid (divideUp(rowCapacity, linearTileRows),
/// divideUp(tiles, linearTileColumnTiles)), linearTileStageBytes(kind) of
/// shared memory for each of its `stages`. A block goes through all parts of
/// the features; partials and tickets are not used.
struct LinearArguments {
  const uint8_t *weight;  ///< tile 0, unit 0
  const void *x;          ///< operand rows
  const float *rowScales; ///< F16 operands: as sluice_operand_rows wrote them
  const float *blockSums; ///< Q4_K: the same
  /// Null, or f32[out]: by the number of the weight's (gated: gate's) column,
  /// not of the tile's; and gated, null where bias is, the same of the partner.
  const float *bias;
  const float *partnerBias;
  const float *residual; ///< null, or as y; may be y
  float *y;
  float *partials;   ///< splits > 1: linearPartialFloats()
  uint32_t *tickets; ///< splits > 1: one for each block (x, z) of the grid; 0
                     ///< before and after
  const int32_t *rowCount;
  int32_t inFeatures;
  int32_t outColumns; ///< columns of the tiles that are written: of whole
                      ///< tiles 16 (gated: 8) each, but at the weight's end
  int32_t firstTile;
  int32_t tiles;
  int32_t splits; ///< linearSplits() of the whole weight
  int32_t stages; ///< sluice_linear_tile_*: 2 to linearTileMaxStages
  Gate gate;
};

constexpr int32_t linearWarps = 4;
constexpr int32_t linearThreads = 32 * linearWarps;

/// Into how many parts the features of a weight are split: enough blocks to
/// occupy the largest chips, parts of 512 features (f32: 256) at least. A
/// function of the weight's shape alone; of a gated one, of the gate's: a
/// column's sum is the same with a partner and without.
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

/// A row of a unit in shared memory: 256 bytes, and 16 so that eight rows lie
/// in different banks.
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

/// How many stages a chip has room for that gives a block `sharedBytes`. Below
/// 2 it cannot run the kernel.
constexpr int32_t linearTileStages(WeightKind kind, int32_t sharedBytes) {
  int32_t stages = sharedBytes / linearTileStageBytes(kind);
  return stages < linearTileMaxStages ? stages : linearTileMaxStages;
}

/// Floats of the partial sums of a launch with kernels of `rows` rows.
constexpr size_t linearPartialFloats(WeightKind kind, int32_t tiles,
                                     int32_t rowCapacity, int32_t rows,
                                     int32_t splits) {
  size_t blocks = size_t(divideUp(tiles, linearWarps)) *
                  size_t(divideUp(rowCapacity, rows)) * size_t(splits);
  int32_t each = rows / 2 * (kind == WeightKind::F32 ? 2 : 1);
  return blocks * linearThreads * size_t(each);
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_KERNELABI_H
