//===- ProbeABI.h - the interface of the probe's kernels ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of kernels/KernelABI.h hold here, too: a kernel's arguments are one
// structure of words, passed by value, and addresses are in device memory. The
// kernels are for sm_90a alone, and only executables that probe a device
// (Probe.h) have them.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEABI_H

#include <stdint.h>

namespace sluice::cuda::probe {

//===----------------------------------------------------------------------===//
// Chains of kernels
//===----------------------------------------------------------------------===//

/// The size of a row in a step's small kernels: 16 KiB, eight numbers a thread.
constexpr int32_t rowFloats = 4096;
constexpr int32_t rowThreads = 512;
constexpr int32_t rowBytes = rowFloats * 4;

/// sluice_probe_row and its copy sluice_probe_wide_row: one block of rowThreads
/// for each row. Waits for the previous kernel, reads the count of rows, and
/// adds 1 to each number of its row if that is below the count.
///
/// sluice_probe_empty: any grid, blocks of rowThreads. Waits for the previous
/// kernel and does nothing.
struct RowArguments {
  const int32_t *rowCount;
  float *rows; ///< [row][rowFloats]
  /// 0, or the size of the block's dynamic shared memory. The row then goes
  /// through its last rowBytes.
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

/// These kernels read memory once and add up its words, as 64-bit numbers.
/// Piece i of block b, i < piecesOfBlock, is piece b * blockStride + i *
/// pieceStride of the memory, if there are that many.
///
///   sluice_probe_stream_loads_4, _8    a thread has 4 or 8 loads of 16 bytes
///                                      in flight at a time
///   sluice_probe_stream_async_3, _4    cp.async with 3 or 4 stages, of which
///                                      one is being read
///   sluice_probe_stream_bulk           cp.async.bulk with `stages` pieces
///
/// Each warp that adds up writes its sum to sums[block][warp].
struct StreamArguments {
  const uint8_t *from; ///< aligned to 16
  uint64_t *sums;
  int64_t pieces;
  int64_t blockStride;
  int64_t pieceStride;
  int64_t piecesOfBlock;
  int32_t pieceBytes; ///< for bulk copies: a multiple of 2048
  int32_t stages;     ///< for bulk copies
};

constexpr int32_t loadThreads = 256;
/// The loads of a thread are loadThreads * 16 bytes apart.
constexpr int32_t loadPieceBytes(int32_t loads) {
  return loadThreads * 16 * loads;
}

constexpr int32_t asyncWarps = 4;
constexpr int32_t asyncThreads = asyncWarps * 32;
/// The bytes that four warps of sluice_linear_* have of a bf16 tile.
constexpr int32_t asyncPieceBytes = asyncWarps * 4096;
constexpr int32_t asyncSharedBytes(int32_t stages) {
  return stages * asyncPieceBytes;
}

/// The warps that add up; one more warp requests the copies.
constexpr int32_t bulkWarps = 4;
constexpr int32_t bulkThreads = (bulkWarps + 1) * 32;
/// Room for the pieces of all stages, then for two barriers of 8 bytes a stage.
constexpr int32_t bulkSharedBytes(int32_t pieceBytes, int32_t stages) {
  return stages * (pieceBytes + 16);
}

//===----------------------------------------------------------------------===//
// A barrier over the grid
//===----------------------------------------------------------------------===//

constexpr int32_t gridBarrierThreads = 128;
constexpr int32_t gridBarrierSharedBytes = 16;

/// sluice_probe_grid_barrier: `blocks` blocks of gridBarrierThreads, all of
/// which must be resident together. Goes through `rounds` barriers over all
/// blocks. A block that has polled the counter `spins` times without success
/// gives up, and so do all others. So a grid that is not resident ends, too.
///
/// With `slots`, each block writes a word before a barrier, and each of its
/// threads reads the word of another block after it.
struct GridBarrierArguments {
  /// Monotonic: 0 at first, and increased by rounds * blocks in a launch.
  uint32_t *counter;
  uint32_t *slots; ///< [2][blocks], or null
  /// [block]: the number of barriers that it has passed.
  int32_t *passed;
  /// [block][gridBarrierThreads]: words that did not arrive.
  int32_t *wrong;
  int64_t spins;
  int32_t rounds;
  int32_t blocks;
};

//===----------------------------------------------------------------------===//
// Products by a warp group
//===----------------------------------------------------------------------===//

/// sluice_probe_wgmma_f16 and _bf16: a block of wgmmaThreads for each tile,
/// with wgmmaSharedBytes(steps). Computes D = A * B by `steps` products of 16
/// features, one after the other, in three ways:
enum class WgmmaWay : int32_t {
  MmaSync,       ///< mma.sync.m16n8k16, by each of the four warps
  FromRegisters, ///< wgmma.m64n8k16, A in registers
  FromShared     ///< wgmma.m64n8k16, A in shared memory
};
constexpr int32_t wgmmaWayCount = 3;
struct WgmmaArguments {
  /// [tile][wgmmaRows][16 * steps], 16-bit numbers.
  const uint16_t *a;
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
