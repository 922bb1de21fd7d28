//===- Emulator.h - runs CUDA kernels on the CPU, unkindly ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests: the sources of runtime/device/cuda/kernels, compiled by the host's
// compiler, run here with the meaning that CUDA gives them, where CUDA leaves a
// choice with the one that shows mistakes.
//
//   LaunchOptions options;
//   options.grid = {4, 1, 1};
//   options.threads = 128;
//   options.sharedBytes = 4096;
//   Status status = launch(options, [&] { sluice_some_kernel(arguments); });
//
// - A thread of a block is a fiber. It runs until it waits: at a barrier, a
//   warp's shuffle, vote, matrix load or product, or for the kernel before. The
//   order in which threads and blocks run is ascending, descending or shuffled,
//   so what is missing between two threads shows in one order or the other. In
//   shuffled order some warps are left behind now and then.
// - Blocks run one after another, or so many at a time that take turns, as
//   `resident` says; nothing of a block's is left to the next.
// - At the start of a block each byte of shared memory is `leftover`. With 0xff
//   all numbers there are NaNs. A result that is another one with another byte
//   depends on memory that nobody has written. What lies behind the end of
//   shared memory is watched.
// - An asynchronous copy destroys its target at once, reads its source and
//   writes at the wait that demands it, and not at all if there is none. So
//   does a bulk copy, whose end a barrier in shared memory tells
//   (CopyBarriers.h).
// - All 32 lanes of a warp, and all threads of a block, come to a collective at
//   the same line of source, or the launch fails and says who is where.
// - What the kernel before writes is there after the wait for it: see `prior`.
// - Misaligned 16-byte accesses fail the launch.
//
// A failed launch returns a line of text; what kernels have written until then
// stays. Outside of shared memory, accesses out of bounds are for
// AddressSanitizer to find. One launch at a time in a thread; several threads
// may each have one.
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
  uint32_t threads = 32; ///< of a block: a multiple of 32, at most 1024
  size_t sharedBytes = 0;
  Order order = Order::Ascending; ///< of threads within a block, and of blocks
  uint64_t seed = 1;              ///< of Order::Shuffled
  uint32_t resident = 1;          ///< blocks that run at a time
  uint8_t leftover = 0xff;        ///< in shared memory that nobody has written
  /// For programmatic dependent launch. If set: called with false before each
  /// block (with several, before those that run together), to destroy what the
  /// kernel before has to write, and with true when no thread of theirs can go
  /// on without waitForPrior(), to put it there.
  std::function<void(bool ready)> prior;
  /// If set: of all asynchronous copies, which are counted as they come.
  uint64_t *copiedBytes = nullptr;
};

/// Runs every block of the grid. `kernel` is called once by each thread.
Status launch(const LaunchOptions &options,
              const std::function<void()> &kernel);

// What follows is for the emulated half of kernels/Primitives.cuh.

/// What a warp does together.
enum class Collective : uint8_t { Shuffle, Vote, MatrixLoad, Product, Sync };

/// Where the calling thread is.
struct ThreadPosition {
  uint32_t thread;
  Dim3 block;
  Dim3 grid;
};
ThreadPosition threadPosition();
uint8_t *sharedMemory();

/// The calling thread waits for all others of its block.
void blockBarrier(std::source_location where);

/// All lanes of a warp come with a pointer to what they bring; the last one
/// calls resolve(lanes), which leaves there what each of them gets.
void warpCollective(Collective kind, void *mine,
                    void (*resolve)(void *const *lanes),
                    std::source_location where);

/// Waits for the kernel before.
void waitForPrior();

/// The queue of the thread's asynchronous copies.
void copyAsync(void *shared, const void *global, size_t bytes);
void copyAsyncCommit();
void copyAsyncWait(int groupsLeft);

/// The block's barriers for bulk copies. testBarrier() says whether the phase
/// of that parity has ended; where it has not, every other thread has gone on
/// first.
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
