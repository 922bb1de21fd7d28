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

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace sluice {

/// The newest mark of each request, and when the head decided its last cancels.
/// Thread-safe; allocates nothing after construction.
class EpochBoard {
public:
  explicit EpochBoard(int64_t requests);

  int64_t requests() const { return count; }

  /// Takes the mark unless a newer one is there; of two with the same node, the
  /// one that says ended. Release: who reads the mark sees what was written
  /// before. Returns whether it was newer. Marks of requests or nodes out of
  /// range are ignored.
  ///
  /// `decided`, of a cancel: when the head decided it. That is kept also where
  /// the mark itself is no news, since a frame has brought a newer one.
  bool publish(const EpochMark &mark, std::optional<Time> decided = {});

  struct State {
    NodeId confirmed = noNode;
    bool ended = false;
    bool operator==(const State &) const = default;
    /// Whether it is news where `known` is known.
    bool isNewerThan(const State &known) const {
      return confirmed > known.confirmed ||
             (confirmed == known.confirmed && ended && !known.ended);
    }
  };
  /// The newest mark. Acquire.
  State get(RequestId request) const;

  /// When the head decided the oldest of the request's cancels, as far as they
  /// are remembered, for which `kills(state)` holds. Nothing if there is none:
  /// what is dead died of a mark that came with a frame.
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

  /// Counts publish() calls that were newer, over all requests; acquire. What
  /// has not changed since need not be looked at again.
  uint64_t changes() const { return changed.load(std::memory_order_acquire); }

private:
  /// More than can come between two checkpoints.
  static constexpr uint64_t remembered = 16;
  struct Cancel {
    State state;
    Time decided{0};
  };
  /// Of a request, the newest last.
  struct Cancels {
    std::array<Cancel, remembered> ring;
    uint64_t count = 0; ///< so far; the i-th is ring[i % remembered]
  };
  void remember(const EpochMark &mark, Time decided);

  int64_t count;
  std::unique_ptr<std::atomic<int64_t>[]> marks; ///< confirmed * 2 + ended
  mutable std::mutex mutex;
  std::vector<Cancels> cancels; ///< [request]; under the mutex
  std::atomic<uint64_t> changed{0};
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_EPOCHBOARD_H
