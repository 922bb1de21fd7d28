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
/// its arrivals and all bytes that were expected in it have come; then the next
/// one begins. Phases are numbered from 0 and named by their parity, as by the
/// hardware. A copy destroys its target at once, and is made when somebody
/// tests its barrier for the phase that has not ended.
///
/// What can be wrong is returned as a text; null: nothing. One thread.
class CopyBarriers {
public:
  const char *initialise(void *barrier, uint32_t arrivals);

  /// One arrival, after `bytes` have been added to what the phase expects.
  const char *arrive(void *barrier, uint32_t bytes);

  const char *copy(void *barrier, void *to, const void *from, uint32_t bytes);

  /// Whether the phase of that parity has ended, which is the one that goes on
  /// or the one before. Adds to `copied` the bytes that it copies.
  const char *test(void *barrier, uint32_t parity, bool &ended,
                   uint64_t &copied);

  /// Whether there are copies that nobody has waited for.
  bool hasOpenCopies() const;

  void clear() { barriers.clear(); }

private:
  struct Copy {
    void *to;
    const void *from;
    uint32_t bytes;
  };
  struct Barrier {
    uint32_t arrivals = 0; ///< of each phase
    uint32_t missing = 0;  ///< arrivals of this one
    int64_t bytes = 0;     ///< that are expected in it
    uint32_t phase = 0;
    std::vector<Copy> open = {};

    void endPhaseIfComplete();
  };

  std::map<void *, Barrier> barriers;
};

} // namespace sluice::cuda::emulator

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_COPYBARRIERS_H
