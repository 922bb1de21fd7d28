//===- CacheContents.h - checks what caches would hold --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks what would lie in a stage's cache. A run without kernels has no keys
// and values, but their origin can be kept in their place: each slot of each
// page holds a hash of the path whose last row was stored there, and the
// request that stored it. So a run can check what no token would show: that
// pages are shared, copied, mirrored and reused so that each row finds exactly
// its own path. Rows that a request has computed must be its own. The prefix
// that it shares comes from another request, so only its tokens must match.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_CACHECONTENTS_H
#define SLUICE_RUNTIME_SIM_CACHECONTENTS_H

#include "runtime/core/Stage.h"

#include <cstdint>
#include <vector>

namespace sluice::sim {

/// The slots of one stage's cache. Thread-compatible.
class CacheContents {
public:
  explicit CacheContents(int64_t pages);

  /// Must be called when a step has been formed: makes its copies. The places
  /// of its rows hold nothing valid until endStep().
  void beginStep(const Stage &stage, const CachePages &pages);

  /// Must be called when the step is computed, before it is finished: stores
  /// the remaining rows and checks that each finds its path. `stage` must keep
  /// tokens. Fails if a slot on a row's path holds something else.
  Status endStep(Stage &stage, const CachePages &pages);

private:
  /// A stored row: a hash of the path's tokens up to it, and its request.
  struct Content {
    uint64_t path = 0;
    uint64_t owner = 0;
    bool operator==(const Content &) const = default;
  };
  Content &slot(const CachePages &pages, SequenceId sequence, int64_t position);
  void pathOf(Stage &stage, int64_t row);

  std::vector<Content> slots; ///< slots[page * pageTokens + offset]
  std::vector<Content> path;  ///< the expected path of a row, by position
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_CACHECONTENTS_H
