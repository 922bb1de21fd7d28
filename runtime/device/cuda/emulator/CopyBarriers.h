//===- CopyBarriers.h - a block's barriers for bulk copies ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_COPYBARRIERS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_COPYBARRIERS_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace sluice::cuda::emulator {

/// The mbarriers of a block, by their addresses, and the bulk copies
/// (cp.async.bulk) that they wait for. A phase of a barrier ends when all of
/// its arrivals and all bytes that it expects have come; then the next phase
/// begins. Phases are numbered from 0 and named by their parity, as in the
/// hardware. A copy destroys its target at once, and is made when a thread
/// tests its barrier for the phase that has not ended.
///
/// Calls return a description of the mistake that they have found, or null.
/// Used by one thread.
class CopyBarriers {
public:
  const char *initialise(void *barrier, uint32_t arrivals);

  /// Counts one arrival, after adding `bytes` to what the phase expects.
  const char *arrive(void *barrier, uint32_t bytes);

  const char *copy(void *barrier, void *to, const void *from, uint32_t bytes);

  /// Sets `ended` to whether the phase of that parity has ended; it is the
  /// current phase or the one before. Adds to `copied` the bytes that it
  /// copies.
  const char *test(void *barrier, uint32_t parity, bool &ended,
                   uint64_t &copied);

  /// Returns whether there are copies that no thread has waited for.
  bool hasOpenCopies() const;

  void clear() { barriers.clear(); }

private:
  struct Copy {
    void *to;
    const void *from;
    uint32_t bytes;
  };
  struct Barrier {
    uint32_t arrivals = 0; ///< needed for each phase
    uint32_t missing = 0;  ///< still missing in the current phase
    int64_t bytes = 0;     ///< still expected in the current phase
    uint32_t phase = 0;
    std::vector<Copy> open = {};

    void endPhaseIfComplete();
  };

  std::map<void *, Barrier> barriers;
};

} // namespace sluice::cuda::emulator

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_COPYBARRIERS_H
