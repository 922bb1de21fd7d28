//===- FrameCount.h - that no frame is missing ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every sender of steps or results counts its frames from 0 (`step` in Rows.h),
// and a lane keeps their order. So who receives them sees at the next frame
// that one was lost on the way, or has come twice. Without this a row that was
// lost would be waited for until its request ran out of time, and one that came
// twice would be answered twice.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_FRAMECOUNT_H
#define SLUICE_RUNTIME_CORE_FRAMECOUNT_H

#include "runtime/base/Status.h"

#include <cstdint>

namespace sluice {

/// The frames of one sender, as they come. Thread-compatible.
class FrameCount {
public:
  /// The sender's frame `step` has come. Error, and then nothing has changed:
  /// another one is due.
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
