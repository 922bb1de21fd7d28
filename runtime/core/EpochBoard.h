//===- EpochBoard.h - the newest marks, shared by all threads -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The board is the one place where the threads of a rank share what the head
// has confirmed. The communication thread publishes marks as they arrive, also
// marks that overtake the rows they concern; workers read the marks at their
// checkpoints.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_EPOCHBOARD_H
#define SLUICE_RUNTIME_CORE_EPOCHBOARD_H

#include "runtime/core/Rows.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace sluice {

/// Holds the newest mark of each request, and when the head decided its last
/// cancels. Thread-safe; allocates nothing after construction.
class EpochBoard {
public:
  explicit EpochBoard(int64_t requests);

  int64_t requests() const { return count; }

  /// Stores the mark unless the board has a newer one; of two marks with the
  /// same node, the one with `ended` is newer. Returns whether the mark was
  /// newer. Marks of requests or nodes out of range are ignored. Memory order:
  /// release, so a thread that reads the mark sees what was written before it.
  ///
  /// For a cancel, `decided` is when the head decided it. The time is kept also
  /// if the mark is not newer, because a frame has brought a newer mark before.
  bool publish(const EpochMark &mark, std::optional<Time> decided = {});

  struct State {
    NodeId confirmed = noNode;
    bool ended = false;
    bool operator==(const State &) const = default;
    /// Whether this state is news to a reader that knows the state `known`.
    bool isNewerThan(const State &known) const {
      return confirmed > known.confirmed ||
             (confirmed == known.confirmed && ended && !known.ended);
    }
  };
  /// Returns the newest mark. Memory order: acquire.
  State get(RequestId request) const;

  /// Returns when the head decided the oldest remembered cancel of the request
  /// for which `kills(state)` holds. Returns nothing if there is none: then the
  /// dead rows died by a mark that came with a frame.
  template <typename Kills>
  std::optional<Time> decidedWhen(RequestId request, Kills kills) const {
    std::lock_guard lock(mutex);
    const Cancels &known = cancels[request];
    uint64_t oldest = known.count < remembered ? 0 : known.count - remembered;
    for (uint64_t i = oldest; i < known.count; ++i)
      if (const Cancel &cancel = known.ring[i % remembered];
          kills(cancel.state))
        return cancel.decided;
    return std::nullopt;
  }

  /// Counts the publish() calls with a newer mark, over all requests. As long
  /// as the count stays the same, no mark has changed. Memory order: acquire.
  uint64_t changes() const { return changed.load(std::memory_order_acquire); }

private:
  /// How many cancels of a request are remembered: more than can come between
  /// two checkpoints.
  static constexpr uint64_t remembered = 16;
  struct Cancel {
    State state;
    Time decided{0};
  };
  /// The cancels of one request, the newest last.
  struct Cancels {
    std::array<Cancel, remembered> ring;
    uint64_t count = 0; ///< so far; the i-th cancel is ring[i % remembered]
  };
  void remember(const EpochMark &mark, Time decided);

  int64_t count;
  std::unique_ptr<std::atomic<int64_t>[]> marks; ///< confirmed * 2 + ended
  mutable std::mutex mutex;
  std::vector<Cancels> cancels; ///< [request]; guarded by the mutex
  std::atomic<uint64_t> changed{0};
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_EPOCHBOARD_H
