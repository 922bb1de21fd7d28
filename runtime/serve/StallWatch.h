//===- StallWatch.h - detection of work without progress ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_STALLWATCH_H
#define SLUICE_RUNTIME_SERVE_STALLWATCH_H

#include "runtime/core/Rows.h"

#include <cstdint>

namespace sluice::serve {

/// The state of a watched object at one time.
struct Movement {
  int64_t count = 0;    ///< things done or begun; only rises
  bool hasWork = false; ///< whether it should make progress
};

/// Measures for how long an object has had work without progress, from states
/// of it that a caller records from time to time. Not thread-safe.
class StallWatch {
public:
  /// Records a state. `now` must not decrease from call to call.
  void look(Time now, Movement movement);
  /// Returns how long the object has stood still; 0 if it had no work or had
  /// made progress at the latest look().
  Time stalledFor(Time now) const;

private:
  int64_t count = -1;
  bool stands = false;
  Time since{0}; ///< time of the look that first saw it stand still
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_STALLWATCH_H
