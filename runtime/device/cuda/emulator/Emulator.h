//===- Emulator.h - runs CUDA kernels on the CPU, strictly ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests. Runs the sources of runtime/device/cuda/kernels, compiled by the
// host's compiler, with the meaning that CUDA gives them. Where CUDA leaves a
// choice, the emulator takes the one that exposes mistakes.
//
//   LaunchOptions options;
//   options.grid = {4, 1, 1};
//   options.threads = 128;
//   options.sharedBytes = 4096;
//   Status status = launch(options, [&] { sluice_some_kernel(arguments); });
//
// - A thread of a block is a fiber. It runs until it waits: at a barrier, a
//   warp's shuffle, vote, matrix load or product, or for the previous kernel.
//   Threads and blocks run in ascending, descending or shuffled order, so a
//   missing barrier between two threads has an effect in one of the orders. In
//   shuffled order some warps are held back now and then.
// - Blocks run one after another, or `resident` of them at a time, which take
//   turns. A block leaves nothing to the next one.
// - At the start of a block each byte of shared memory is `leftover`. With 0xff
//   all numbers there are NaNs. If a result changes with the byte, it depends
//   on memory that was not written. Accesses beyond the end of shared memory
//   are detected.
// - An asynchronous copy destroys its target at once. It reads its source and
//   writes its target only at the wait that demands it, and never if there is
//   no such wait. A bulk copy does the same; a barrier in shared memory signals
//   its end (CopyBarriers.h).
// - All 32 lanes of a warp, and all threads of a block, must come to a
//   collective at the same source line. Otherwise the launch fails, and the
//   error says which thread is where.
// - What the previous kernel writes appears only after the wait for it: see
//   `prior`.
// - Misaligned 16-byte accesses fail the launch.
//
// A failed launch returns one line of text; what the kernels have written until
// then stays. AddressSanitizer finds accesses out of bounds, except in shared
// memory. A thread has one launch at a time; several threads may each have one.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATOR_H
#define SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATOR_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>

namespace sluice::cuda::emulator {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

enum class Order : uint8_t { Ascending, Descending, Shuffled };

struct LaunchOptions {
  Dim3 grid;
  uint32_t threads = 32; ///< threads of a block: a multiple of 32, at most 1024
  size_t sharedBytes = 0;
  Order order = Order::Ascending; ///< of threads within a block, and of blocks
  uint64_t seed = 1;              ///< for Order::Shuffled
  uint32_t resident = 1;          ///< blocks that are resident together
  uint8_t leftover = 0xff;        ///< value of unwritten shared memory
  /// If set, emulates programmatic dependent launch. Called with false before
  /// each block (or group of resident blocks), to destroy what the previous
  /// kernel has to write. Called with true when none of their threads can go on
  /// without waitForPrior(), to put it in place.
  std::function<void(bool ready)> prior;
  /// If set, the bytes of all asynchronous copies are added to it as they are
  /// made.
  uint64_t *copiedBytes = nullptr;
};

/// Runs every block of the grid. `kernel` is called once by each thread.
Status launch(const LaunchOptions &options,
              const std::function<void()> &kernel);

// The following functions serve the emulated half of kernels/Primitives.cuh.

/// Operations that all lanes of a warp do together.
enum class Collective : uint8_t { Shuffle, Vote, MatrixLoad, Product, Sync };

/// The position of the calling thread in the grid.
struct ThreadPosition {
  uint32_t thread;
  Dim3 block;
  Dim3 grid;
};
ThreadPosition threadPosition();
uint8_t *sharedMemory();

/// Lets the calling thread wait for all others of its block.
void blockBarrier(std::source_location where);

/// Each lane of a warp passes a pointer to its operand. The last lane to come
/// calls resolve(lanes), which replaces each operand by the lane's result.
void warpCollective(Collective kind, void *mine,
                    void (*resolve)(void *const *lanes),
                    std::source_location where);

/// Waits for the previous kernel.
void waitForPrior();

/// These work on the calling thread's queue of asynchronous copies.
void copyAsync(void *shared, const void *global, size_t bytes);
void copyAsyncCommit();
void copyAsyncWait(int groupsLeft);

/// These work on the block's barriers for bulk copies. testBarrier() returns
/// whether the phase of that parity has ended. If it has not, all other threads
/// run first.
void initialiseBarrier(void *barrier, uint32_t arrivals,
                       std::source_location where);
void arriveAtBarrier(void *barrier, uint32_t bytes, std::source_location where);
void copyBulk(void *barrier, void *shared, const void *global, uint32_t bytes,
              std::source_location where);
bool testBarrier(void *barrier, uint32_t parity, std::source_location where);

/// Lets every other thread that can go on do so first.
void yield();

/// Ends the launch with an error; does not return.
[[noreturn]] void fail(const char *what, std::source_location where);

} // namespace sluice::cuda::emulator

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATOR_H
