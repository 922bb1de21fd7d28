//===- CacheContents.h - what would lie in a cache ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What would lie in a stage's cache. A run without kernels has no keys and
// values, but what they belong to can be kept in their place: each slot of each
// page holds the path whose last row was stored there, and whose it was. So a
// run can check what no token would show: that pages are shared, copied,
// mirrored and used again in such a way that each row finds exactly its own
// path. What a request has computed has to be its own; the prefix that it began
// with is another's, of whom only the tokens have to be the same.
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

  /// A step has been formed: makes its copies. Where its rows will be stored,
  /// nothing is valid until they are.
  void beginStep(const Stage &stage, const CachePages &pages);

  /// The step is computed, to be called before it is finished: stores the rows
  /// that are left, and checks that each finds its path. `stage` keeps tokens.
  /// Error: a slot of a row's path holds something else.
  Status endStep(Stage &stage, const CachePages &pages);

private:
  /// What was stored: the tokens of the path up to there, and whose it was.
  struct Content {
    uint64_t path = 0;
    uint64_t owner = 0;
    bool operator==(const Content &) const = default;
  };
  Content &slot(const CachePages &pages, SequenceId sequence, int64_t position);
  void pathOf(Stage &stage, int64_t row);

  std::vector<Content> slots; ///< slots[page * pageTokens + offset]
  std::vector<Content> path;  ///< of a row, by position
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_CACHECONTENTS_H
