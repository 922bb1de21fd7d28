//===- FrameCount.h - detects lost and repeated frames --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every sender of steps or results counts its frames from 0 (`step` in Rows.h),
// and a lane keeps their order. So the receiver notices at the next frame that
// a frame was lost or has come twice. Otherwise the receiver would wait for a
// lost row until its request timed out, and would answer a repeated row twice.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_FRAMECOUNT_H
#define SLUICE_RUNTIME_CORE_FRAMECOUNT_H

#include "runtime/base/Status.h"

#include <cstdint>

namespace sluice {

/// Counts the frames of one sender as they arrive. Thread-compatible.
class FrameCount {
public:
  /// Takes the sender's frame `step`. Fails, and changes nothing, if that is
  /// not the next frame.
  Status take(uint64_t step) {
    if (step > due)
      return failure("frame ", step, " has come where ", due,
                     " is due: ", step - due, " lost");
    if (step < due)
      return failure("frame ", step, " has come again: ", due, " is due");
    ++due;
    return {};
  }

private:
  uint64_t due = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_FRAMECOUNT_H
