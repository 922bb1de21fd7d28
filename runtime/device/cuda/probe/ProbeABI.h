//===- ProbeABI.h - what the probe's kernels take and do ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As kernels/KernelABI.h, whose rules hold: a kernel's arguments are one
// structure of words, passed by value; addresses are of the device's memory.
// These kernels are for sm_90a alone, and part of no executable but those that
// probe a device (Probe.h).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEABI_H

#include <stdint.h>

namespace sluice::cuda::probe {

//===----------------------------------------------------------------------===//
// Chains of kernels
//===----------------------------------------------------------------------===//

/// A row as a step's small kernels have it: 16 KiB, eight numbers a thread.
constexpr int32_t rowFloats = 4096;
constexpr int32_t rowThreads = 512;
constexpr int32_t rowBytes = rowFloats * 4;

/// sluice_probe_row and sluice_probe_wide_row, which are the same: one block of
/// rowThreads for each row. Waits for the kernel before, reads how many rows
/// there are, and adds 1 to each number of its row if that is one of them.
///
/// sluice_probe_empty: any grid, blocks of rowThreads. Waits for the kernel
/// before and does nothing.
struct RowArguments {
  const int32_t *rowCount;
  float *rows; ///< [row][rowFloats]
  /// 0, or the block's dynamic shared memory, whose last rowBytes the row goes
  /// through.
  int64_t sharedBytes;
};

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

/// sluice_probe_fill: any grid, blocks of fillThreads. words[i] = i.
struct FillArguments {
  uint32_t *words;
  int64_t count; ///< a multiple of 4
};
constexpr int32_t fillThreads = 256;

/// Kernels that read memory once and add up its words, as numbers of 64 bits.
/// Piece i of block b, i < piecesOfBlock, is piece b * blockStride +
/// i * pieceStride of the memory, if there are so many.
///
///   sluice_probe_stream_loads_4, _8    so many loads of 16 bytes of a thread
///                                      are on their way at a time
///   sluice_probe_stream_async_3, _4    cp.async, so many stages, of which one
///                                      is being read
///   sluice_probe_stream_bulk           cp.async.bulk, `stages` pieces
///
/// Each warp that adds up writes its sum: sums[block][warp].
struct StreamArguments {
  const uint8_t *from; ///< aligned to 16
  uint64_t *sums;
  int64_t pieces;
  int64_t blockStride;
  int64_t pieceStride;
  int64_t piecesOfBlock;
  int32_t pieceBytes; ///< of bulk copies: a multiple of 2048
  int32_t stages;     ///< of bulk copies
};

constexpr int32_t loadThreads = 256;
/// A thread's loads lie loadThreads * 16 bytes apart.
constexpr int32_t loadPieceBytes(int32_t loads) {
  return loadThreads * 16 * loads;
}

constexpr int32_t asyncWarps = 4;
constexpr int32_t asyncThreads = asyncWarps * 32;
/// What four warps have of a tile of bf16 in sluice_linear_*.
constexpr int32_t asyncPieceBytes = asyncWarps * 4096;
constexpr int32_t asyncSharedBytes(int32_t stages) {
  return stages * asyncPieceBytes;
}

/// Warps that add up, and one more that asks for copies.
constexpr int32_t bulkWarps = 4;
constexpr int32_t bulkThreads = (bulkWarps + 1) * 32;
/// Pieces, then two barriers of 8 bytes each.
constexpr int32_t bulkSharedBytes(int32_t pieceBytes, int32_t stages) {
  return stages * (pieceBytes + 16);
}

//===----------------------------------------------------------------------===//
// A barrier over the grid
//===----------------------------------------------------------------------===//

constexpr int32_t gridBarrierThreads = 128;
constexpr int32_t gridBarrierSharedBytes = 16;

/// sluice_probe_grid_barrier: one block of gridBarrierThreads for each of
/// `blocks`, all of which must be resident at a time. Goes through `rounds`
/// barriers over all blocks. A block that has looked at the counter `spins`
/// times and more is still alone gives up, and so do the others: a grid that is
/// not resident ends.
///
/// With `slots` each block leaves a word before a barrier, and each of its
/// threads reads the word of another block behind it.
struct GridBarrierArguments {
  uint32_t *counter; ///< monotonic: 0 at first, and rounds * blocks a launch
  uint32_t *slots;   ///< [2][blocks], or null
  int32_t *passed;   ///< [block]: the barriers that it has passed
  int32_t *wrong;    ///< [block][gridBarrierThreads]: words that were not there
  int64_t spins;
  int32_t rounds;
  int32_t blocks;
};

//===----------------------------------------------------------------------===//
// Products by a warp group
//===----------------------------------------------------------------------===//

/// sluice_probe_wgmma_f16 and _bf16: a block of wgmmaThreads for each tile,
/// with wgmmaSharedBytes(steps). D = A * B by products of 16 features, `steps`
/// of them one behind the other, in three ways:
enum class WgmmaWay : int32_t {
  MmaSync,       ///< mma.sync.m16n8k16, by each of the four warps
  FromRegisters, ///< wgmma.m64n8k16, A in registers
  FromShared     ///< the same, A in shared memory
};
constexpr int32_t wgmmaWayCount = 3;
struct WgmmaArguments {
  const uint16_t *a; ///< [tile][wgmmaRows][16 * steps], numbers of 16 bits
  const uint16_t *b; ///< [tile][wgmmaColumns][16 * steps]
  float *d;          ///< [tile][way][wgmmaRows][wgmmaColumns]
  int64_t steps;     ///< 1, 2, or a multiple of 8
};
constexpr int32_t wgmmaRows = 64;
constexpr int32_t wgmmaColumns = 8;
constexpr int32_t wgmmaThreads = 128;
constexpr int32_t wgmmaSharedBytes(int32_t steps) {
  return steps * (wgmmaRows + wgmmaColumns) * 16 * 2;
}

} // namespace sluice::cuda::probe

#endif // SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEABI_H
