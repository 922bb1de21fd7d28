//===- StallWatch.h - notices what has work and does not move -------------===//
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

/// What is watched, at one look.
struct Movement {
  int64_t count = 0;    ///< of what it has done or begun; it only rises
  bool hasWork = false; ///< so that it should move
};

/// Is told now and then how something stands, and says for how long that has
/// had work and not moved. Not thread-safe.
class StallWatch {
public:
  /// `now` does not go back from call to call.
  void look(Time now, Movement movement);
  /// 0 where it has moved since the last look but one, or has no work.
  Time stalledFor(Time now) const;

private:
  int64_t count = -1;
  bool stands = false;
  Time since{0}; ///< when it was first seen to stand
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_STALLWATCH_H
