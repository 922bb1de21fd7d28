//===- EpochBoard.h - what is confirmed, seen by all threads --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place where threads of a rank share what the head has confirmed: the
// communication thread publishes marks as they arrive, also those that overtake
// the rows they are about, and workers read them at their checkpoints.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_EPOCHBOARD_H
#define SLUICE_RUNTIME_CORE_EPOCHBOARD_H

#include "runtime/core/Rows.h"

#include <atomic>
#include <memory>

namespace sluice {

/// The newest mark of each request. Thread-safe; allocates nothing after
/// construction.
class EpochBoard {
public:
  explicit EpochBoard(int64_t requests);

  int64_t requests() const { return count; }

  /// Takes the mark unless a newer one is there; of two with the same node, the
  /// one that says ended. Release: who reads the mark sees what was written
  /// before. Returns whether it was newer. Marks of requests or nodes out of
  /// range are ignored.
  bool publish(const EpochMark &mark);

  struct State {
    NodeId confirmed = noNode;
    bool ended = false;
    bool operator==(const State &) const = default;
  };
  /// The newest mark. Acquire.
  State get(RequestId request) const;

  /// Counts publish() calls that were newer, over all requests; acquire. What
  /// has not changed since need not be looked at again.
  uint64_t changes() const { return changed.load(std::memory_order_acquire); }

private:
  int64_t count;
  std::unique_ptr<std::atomic<int64_t>[]> marks; ///< confirmed * 2 + ended
  std::atomic<uint64_t> changed{0};
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_EPOCHBOARD_H
