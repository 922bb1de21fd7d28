//===- Streams.cuh - kernels that read memory once ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_PROBE_STREAMS_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_PROBE_STREAMS_CUH

#include "runtime/device/cuda/probe/ProbeABI.h"
#include "runtime/device/cuda/probe/ProbePrimitives.cuh"

namespace sluice::cuda::probe {

SLUICE_DEVICE uint64_t sumOf(const Vector4 &v) {
  return (uint64_t(v.word[0]) + v.word[1]) + (uint64_t(v.word[2]) + v.word[3]);
}

/// A block's share of the pieces.
struct StreamShare {
  int64_t first;
  int64_t count;

  SLUICE_MEMBER explicit StreamShare(const StreamArguments &arg)
      : first(int64_t(blockX()) * arg.blockStride), count(0) {
    const int64_t stride = arg.pieceStride, remaining = arg.pieces - first;
    if (remaining > 0)
      count = (remaining + stride - 1) / stride;
    if (count > arg.piecesOfBlock)
      count = arg.piecesOfBlock;
  }
};

SLUICE_DEVICE void storeWarpSum(const StreamArguments &arg, uint64_t sum,
                                int32_t warps) {
  sum = warpSum(sum);
  if (laneIndex() == 0)
    arg.sums[int64_t(blockX()) * warps + warpIndex()] = sum;
}

/// Reads by loads into registers.
template <int loads>
SLUICE_DEVICE void streamLoads(const StreamArguments &arg) {
  launchDependents();
  waitForPrior();
  constexpr int64_t pieceBytes = loadPieceBytes(loads);
  const StreamShare share(arg);
  const uint8_t *from =
      arg.from + share.first * pieceBytes + threadIndex() * 16;
  uint64_t sum = 0;
  // Unrolling would put loads of several pieces in flight.
#pragma unroll 1
  for (int64_t i = 0; i < share.count; ++i) {
    Vector4 values[loads];
#pragma unroll
    for (int j = 0; j < loads; ++j)
      values[j] = loadStreaming(from + j * (loadThreads * 16));
#pragma unroll
    for (int j = 0; j < loads; ++j)
      sum += sumOf(values[j]);
    from += arg.pieceStride * pieceBytes;
  }
  storeWarpSum(arg, sum, loadThreads / 32);
}

/// Reads by cp.async, in the order of sluice_linear_*: each warp copies a tile
/// of its own into each stage, and a barrier separates the reading of a stage
/// from filling it again.
template <int stages> class AsyncStream {
public:
  SLUICE_MEMBER static void run(const StreamArguments &arg) {
    launchDependents();
    waitForPrior();
    AsyncStream stream(arg);
    storeWarpSum(arg, stream.sum(), asyncWarps);
  }

private:
  static constexpr int tileBytes = asyncPieceBytes / asyncWarps;
  const StreamArguments &arg;
  StreamShare share;
  uint32_t lane, warp;

  SLUICE_MEMBER explicit AsyncStream(const StreamArguments &arguments)
      : arg(arguments), share(arguments), lane(laneIndex()), warp(warpIndex()) {
  }

  SLUICE_MEMBER uint64_t sum() {
#pragma unroll
    for (int i = 0; i < stages - 1; ++i)
      copyPiece(i, i);
    uint64_t sum = 0;
    int stage = 0;
    for (int64_t i = 0; i < share.count; ++i) {
      copyAsyncWait<stages - 2>();
      // Now all threads can read the piece, and no thread reads the stage of
      // the previous piece any more, which is filled again.
      syncThreads();
      copyPiece(i + stages - 1, stage == 0 ? stages - 1 : stage - 1);
      const uint8_t *tile = tileOf(stage);
#pragma unroll
      for (int at = 0; at < tileBytes; at += 512)
        sum += sumOf(load16(tile + at + (lane ^ 31) * 16));
      stage = stage == stages - 1 ? 0 : stage + 1;
    }
    copyAsyncWait<0>();
    return sum;
  }

  SLUICE_MEMBER uint8_t *tileOf(int stage) {
    return sharedMemory() + stage * asyncPieceBytes + warp * tileBytes;
  }

  /// Makes a group of copies in any case, since the number of groups tells
  /// which copies have arrived.
  SLUICE_MEMBER void copyPiece(int64_t i, int stage) {
    if (i < share.count) {
      const uint8_t *from =
          arg.from + (share.first + i * arg.pieceStride) * asyncPieceBytes +
          warp * tileBytes;
      uint8_t *to = tileOf(stage);
#pragma unroll
      for (int at = 0; at < tileBytes; at += 512)
        copyAsync16(to + at + lane * 16, from + at + lane * 16);
    }
    copyAsyncCommit();
  }
};

/// Reads by bulk copies into a ring of pieces. One thread requests the copies,
/// four warps add up. Each piece has two barriers: `full`, with one arrival and
/// the piece's bytes, and `empty`, with an arrival of each warp that has read
/// it. Both go through one phase in each turn of the ring, so the turn's parity
/// names the phase.
class BulkStream {
public:
  SLUICE_MEMBER static void run(const StreamArguments &arg) {
    launchDependents();
    waitForPrior();
    BulkStream stream(arg);
    stream.initialise();
    if (warpIndex() < bulkWarps)
      storeWarpSum(arg, stream.sum(), bulkWarps);
    else if (laneIndex() == 0)
      stream.produce();
  }

private:
  const StreamArguments &arg;
  StreamShare share;
  uint64_t *full, *empty;

  SLUICE_MEMBER explicit BulkStream(const StreamArguments &arguments)
      : arg(arguments), share(arguments),
        full(reinterpret_cast<uint64_t *>(
            sharedMemory() + arguments.stages * arguments.pieceBytes)),
        empty(full + arguments.stages) {}

  SLUICE_MEMBER void initialise() {
    if (threadIndex() == 0) {
      for (int32_t stage = 0; stage < arg.stages; ++stage) {
        initialiseBarrier(full + stage, 1);
        initialiseBarrier(empty + stage, bulkWarps);
      }
      // The copies will count on barriers that this thread has written.
      fenceAsyncProxy();
    }
    syncThreads();
  }

  SLUICE_MEMBER void produce() {
    int32_t stage = 0;
    uint32_t turn = 0; // the parity of the turn
    const uint8_t *from = arg.from + share.first * arg.pieceBytes;
    for (int64_t i = 0; i < share.count; ++i) {
      // Waits until the previous turn has been read. In the first turn that is
      // the phase before a barrier's first, which counts as ended. The reads
      // were done when their warps arrived, so no proxy fence is needed.
      if (!awaitPhase(empty + stage, turn ^ 1))
        return;
      arriveExpecting(full + stage, uint32_t(arg.pieceBytes));
      copyBulk(sharedMemory() + stage * arg.pieceBytes, from,
               uint32_t(arg.pieceBytes), full + stage);
      from += arg.pieceStride * arg.pieceBytes;
      advance(stage, turn);
    }
  }

  /// Returns the sum, or all bits if a piece has not arrived.
  SLUICE_MEMBER uint64_t sum() {
    const int32_t share4 = arg.pieceBytes / bulkWarps;
    const uint32_t lane = laneIndex();
    int32_t stage = 0;
    uint32_t turn = 0;
    uint64_t sum = 0;
    for (int64_t i = 0; i < share.count; ++i) {
      // Each lane sees the end of the phase, and so the bytes, by itself. The
      // vote keeps the warp together if a lane gives up.
      if (voteOf(awaitPhase(full + stage, turn)) != 0xffffffffu)
        return ~uint64_t(0);
      const uint8_t *piece = sharedMemory() + stage * arg.pieceBytes +
                             int32_t(warpIndex()) * share4;
      for (int32_t at = int32_t(lane) * 16; at < share4; at += 512)
        sum += sumOf(load16(piece + at));
      syncWarp();
      if (lane == 0)
        arrive(empty + stage);
      advance(stage, turn);
    }
    return sum;
  }

  SLUICE_MEMBER void advance(int32_t &stage, uint32_t &turn) const {
    if (++stage < arg.stages)
      return;
    stage = 0;
    turn ^= 1;
  }
};

} // namespace sluice::cuda::probe

#endif // SLUICE_RUNTIME_DEVICE_CUDA_PROBE_STREAMS_CUH
