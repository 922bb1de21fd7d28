//===- Compact.cu - moves living rows together ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One block makes the plan: a step has few rows, and after a barrier all
// threads of a block know what one of them knows. Places in lists come from
// votes: a thread's place is the number of threads before it that have
// something to list.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Kernels.h"
#include "runtime/device/cuda/kernels/Primitives.cuh"

using namespace sluice::cuda;

namespace {

constexpr int32_t threads = compactThreads;
constexpr int32_t warps = threads / 32;

/// Assigns places, in the order of threads, to the threads that ask for one.
class Places {
public:
  /// Places that all calls have given; the same in every thread.
  int32_t given = 0;

  /// Returns a place, or -1 for threads that do not ask. All threads call it.
  /// `sums` is shared memory, one number for each warp and list.
  SLUICE_MEMBER int32_t next(bool asks, int32_t *sums) {
    uint32_t votes = voteOf(asks);
    syncThreads(); // The sums of the last call have been read.
    if (laneIndex() == 0)
      sums[warpIndex()] = bitCount(votes);
    syncThreads();
    int32_t place = given + bitCount(votes & ((1u << laneIndex()) - 1));
#pragma unroll
    for (int32_t warp = 0; warp < warps; ++warp) {
      place += warp < int32_t(warpIndex()) ? sums[warp] : 0;
      given += sums[warp];
    }
    return asks ? place : -1;
  }
};

class Compaction {
public:
  SLUICE_MEMBER explicit Compaction(const CompactArguments &arguments)
      : arg(arguments), thread(int32_t(threadIndex())),
        rows(*arguments.rowCount),
        holeSums(reinterpret_cast<int32_t *>(sharedMemory())),
        moverSums(holeSums + warps),
        alive(reinterpret_cast<uint8_t *>(moverSums + warps)) {}

  SLUICE_MEMBER void run() {
    Places living;
    for (int32_t first = 0; first < rows; first += threads) {
      int32_t row = first + thread;
      bool lives =
          row < rows && loadHostByte(arg.alive + arg.origins[row]) != 0;
      if (row < rows) {
        alive[row] = lives;
        if (!lives)
          arg.departedAt[arg.origins[row]] = arg.checkpoint;
      }
      living.next(lives, holeSums);
    }
    syncThreads();
    remaining = living.given;
    int32_t moves = remaining == rows ? 0 : plan();
    // All threads have read the old count.
    syncThreads();
    if (thread == 0)
      *arg.moveCount = moves;
    if (remaining == rows)
      return;
    moveStates(moves);
    if (arg.outputRows)
      listOutputs();
    else if (thread == 0 && remaining == 0)
      *arg.outputCount = 0;
    if (arg.mirrorCount)
      keepMirrors();
    if (thread != 0)
      return;
    *arg.rowCount = remaining;
    if (arg.passed)
      storeHostWord(arg.passed, arg.checkpoint);
  }

private:
  const CompactArguments &arg;
  int32_t thread;
  int32_t rows; ///< before the checkpoint
  int32_t remaining = 0;
  int32_t *holeSums, *moverSums;
  uint8_t *alive; ///< [slot]

  /// Plans the moves: the i-th living row beyond the remaining count goes to
  /// the i-th hole.
  SLUICE_MEMBER int32_t plan() {
    Places holes, movers;
    for (int32_t first = 0; first < rows; first += threads) {
      int32_t slot = first + thread;
      bool lives = slot < rows && alive[slot];
      int32_t hole = holes.next(slot < remaining && !lives, holeSums);
      int32_t mover = movers.next(slot >= remaining && lives, moverSums);
      if (hole >= 0)
        arg.moves[2 * hole + 1] = slot;
      if (mover >= 0)
        arg.moves[2 * mover] = slot;
      if (slot < rows)
        arg.rowNow[slot] = slot;
    }
    syncThreads();
    for (int32_t i = thread; i < movers.given; i += threads)
      arg.rowNow[arg.moves[2 * i]] = arg.moves[2 * i + 1];
    return movers.given;
  }

  SLUICE_MEMBER void moveStates(int32_t moves) {
    for (int32_t i = thread; i < moves * arg.stateCount; i += threads) {
      int32_t *state = arg.states[i / moves];
      const int32_t *move = arg.moves + 2 * (i % moves);
      state[move[1]] = state[move[0]];
    }
    syncThreads();
  }

  SLUICE_MEMBER void listOutputs() {
    Places outputs;
    for (int32_t first = 0; first < remaining; first += threads) {
      int32_t row = first + thread;
      int32_t place =
          outputs.next(row < remaining && arg.wantsOutput[row] != 0, holeSums);
      if (place >= 0) {
        arg.outputRows[place] = row;
        arg.outputSources[place] = arg.wantsOutput[row] - 1;
      }
    }
    if (thread == 0)
      *arg.outputCount = outputs.given;
  }

  SLUICE_MEMBER void keepMirrors() {
    int32_t count = *arg.mirrorCount;
    Places kept;
    for (int32_t first = 0; first < count; first += threads) {
      int32_t mirror = first + thread;
      int32_t row = mirror < count ? arg.mirrorRows[mirror] : 0;
      int32_t sequence = mirror < count ? arg.mirrorSequences[mirror] : 0;
      // A place is never after a mirror that has not been read yet: next() has
      // barriers.
      int32_t place = kept.next(mirror < count && alive[row], holeSums);
      if (place >= 0) {
        arg.mirrorRows[place] = arg.rowNow[row];
        arg.mirrorSequences[place] = sequence;
      }
    }
    syncThreads();
    if (thread == 0)
      *arg.mirrorCount = kept.given;
  }
};

} // namespace

extern "C" SLUICE_KERNEL(compactThreads)
    sluice_compact(const CompactArguments arguments) {
  launchDependents();
  waitForPrior();
  Compaction(arguments).run();
}

extern "C" SLUICE_KERNEL(moveThreads)
    sluice_move_values(const MoveArguments arguments) {
  launchDependents();
  waitForPrior();
  int32_t moves = *arguments.moveCount;
  int64_t bytes = arguments.rowBytes[blockY()];
  uint8_t *values = arguments.values[blockY()];
  for (auto i = int32_t(blockX()); i < moves; i += int32_t(gridX())) {
    const uint8_t *from = values + arguments.moves[2 * i] * bytes;
    uint8_t *to = values + arguments.moves[2 * i + 1] * bytes;
    if (bytes % 16 == 0)
      for (int64_t at = threadIndex() * 16; at < bytes; at += moveThreads * 16)
        store16(to + at, load16(from + at));
    else
      for (int64_t at = threadIndex() * 4; at < bytes; at += moveThreads * 4)
        *reinterpret_cast<uint32_t *>(to + at) =
            *reinterpret_cast<const uint32_t *>(from + at);
  }
}
