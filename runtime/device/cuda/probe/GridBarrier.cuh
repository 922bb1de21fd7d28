//===- GridBarrier.cuh - a barrier over all blocks of a grid --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_PROBE_GRIDBARRIER_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_PROBE_GRIDBARRIER_CUH

#include "runtime/device/cuda/probe/ProbeABI.h"
#include "runtime/device/cuda/probe/ProbePrimitives.cuh"

namespace sluice::cuda::probe {

/// A barrier over all blocks; see GridBarrierArguments. The counter only grows:
/// all blocks have reached barrier n of a launch when the counter is n * blocks
/// above its value before the launch.
class GridBarrier {
public:
  SLUICE_MEMBER static void run(const GridBarrierArguments &arg) {
    launchDependents();
    waitForPrior();
    GridBarrier barrier(arg);
    int32_t round = 0, wrong = 0;
    for (; round < arg.rounds; ++round) {
      barrier.leaveWord(round);
      if (!barrier.pass(round))
        break;
      wrong += barrier.missesWord(round);
    }
    if (threadIndex() == 0)
      arg.passed[blockX()] = round;
    arg.wrong[int64_t(blockX()) * gridBarrierThreads + threadIndex()] = wrong;
  }

private:
  const GridBarrierArguments &arg;
  uint32_t base; ///< the counter before the launch

  /// Computes the value of the counter before the launch. Each earlier launch
  /// has added rounds * blocks, and this launch has added less than that so
  /// far. So the value is the counter, rounded down to a multiple of that
  /// number, however many blocks have arrived already.
  SLUICE_MEMBER explicit GridBarrier(const GridBarrierArguments &arguments)
      : arg(arguments), base(0) {
    if (threadIndex() != 0)
      return;
    const uint32_t now = loadAcquire(arg.counter);
    base = now - now % (uint32_t(arg.rounds) * uint32_t(arg.blocks));
  }

  /// Returns the word of a block. A block has two words, which it uses in
  /// turns: when it writes one, it has passed the barrier after which all
  /// blocks have read it.
  SLUICE_MEMBER uint32_t *wordOf(int32_t round, uint32_t block) const {
    return arg.slots + round % 2 * arg.blocks + block % uint32_t(arg.blocks);
  }
  SLUICE_MEMBER void leaveWord(int32_t round) const {
    if (arg.slots && threadIndex() == 0)
      *wordOf(round, blockX()) = uint32_t(round) + 1;
  }
  /// Returns 1 if the word of another block is missing. Thread 0 has acquired
  /// it; the other threads read after a later barrier of the block, which
  /// suffices. The loads are ordinary ones on purpose.
  SLUICE_MEMBER int32_t missesWord(int32_t round) const {
    return arg.slots &&
           *wordOf(round, blockX() + 1 + threadIndex()) != uint32_t(round) + 1;
  }

  /// Returns false if the block has given up.
  SLUICE_MEMBER bool pass(int32_t round) {
    auto *passed = reinterpret_cast<uint32_t *>(sharedMemory());
    syncThreads();
    if (threadIndex() == 0) {
      addRelease(arg.counter, 1);
      *passed = waitFor(base + uint32_t(round + 1) * uint32_t(arg.blocks));
    }
    syncThreads();
    return *passed != 0;
  }

  SLUICE_MEMBER bool waitFor(uint32_t target) const {
    for (int64_t i = 0; i < arg.spins; ++i)
      if (int32_t(loadAcquire(arg.counter) - target) >= 0)
        return true;
    return false;
  }
};

} // namespace sluice::cuda::probe

#endif // SLUICE_RUNTIME_DEVICE_CUDA_PROBE_GRIDBARRIER_CUH
