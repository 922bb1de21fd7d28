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

/// See GridBarrierArguments. The counter only grows: barrier n of a launch has
/// been reached by all when it is n * blocks above what it was before.
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
  uint32_t base; ///< what the counter was before the launch

  /// A launch that has not ended adds less than all of its arrivals, and each
  /// launch before has added all of them: the counter's multiple of that is
  /// what the launch has found, whoever has arrived already.
  SLUICE_MEMBER explicit GridBarrier(const GridBarrierArguments &arguments)
      : arg(arguments), base(0) {
    if (threadIndex() != 0)
      return;
    const uint32_t now = loadAcquire(arg.counter);
    base = now - now % (uint32_t(arg.rounds) * uint32_t(arg.blocks));
  }

  /// Two words a block, used by turns: who writes one has passed the barrier
  /// behind which all have read it.
  SLUICE_MEMBER uint32_t *wordOf(int32_t round, uint32_t block) const {
    return arg.slots + round % 2 * arg.blocks + block % uint32_t(arg.blocks);
  }
  SLUICE_MEMBER void leaveWord(int32_t round) const {
    if (arg.slots && threadIndex() == 0)
      *wordOf(round, blockX()) = uint32_t(round) + 1;
  }
  /// Thread 0 has acquired; the others' reads stand behind a barrier behind
  /// that, which is as good. Ordinary loads on purpose.
  SLUICE_MEMBER int32_t missesWord(int32_t round) const {
    return arg.slots &&
           *wordOf(round, blockX() + 1 + threadIndex()) != uint32_t(round) + 1;
  }

  /// False: has given up.
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
