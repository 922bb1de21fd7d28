//===- EpochBoard.cpp - the newest marks, shared by all threads -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/EpochBoard.h"

#include <cassert>

namespace sluice {

namespace {

/// Maps a newer mark to a larger number: by node, then by `ended`.
int64_t pack(NodeId confirmed, bool ended) {
  return confirmed * 2 + (ended ? 1 : 0);
}

} // namespace

EpochBoard::EpochBoard(int64_t requests)
    : count(requests), marks(std::make_unique<std::atomic<int64_t>[]>(
                           static_cast<size_t>(requests))),
      cancels(static_cast<size_t>(requests)) {
  assert(requests >= 1);
  for (int64_t request = 0; request < count; ++request)
    marks[request].store(pack(noNode, false), std::memory_order_relaxed);
}

bool EpochBoard::publish(const EpochMark &mark, std::optional<Time> decided) {
  constexpr NodeId max = std::numeric_limits<NodeId>::max() / 2;
  if (mark.request < 0 || mark.request >= count || mark.confirmed < noNode ||
      mark.confirmed > max)
    return false;
  // The time is stored before the mark, so a thread that sees the mark finds
  // it.
  if (decided)
    remember(mark, *decided);
  std::atomic<int64_t> &newest = marks[mark.request];
  int64_t wanted = pack(mark.confirmed, mark.ended);
  int64_t seen = newest.load(std::memory_order_relaxed);
  while (seen < wanted)
    if (newest.compare_exchange_weak(seen, wanted, std::memory_order_release,
                                     std::memory_order_relaxed)) {
      // The count follows the mark, so a thread that sees the count sees the
      // mark.
      changed.fetch_add(1, std::memory_order_release);
      return true;
    }
  return false;
}

void EpochBoard::remember(const EpochMark &mark, Time decided) {
  std::lock_guard lock(mutex);
  Cancels &known = cancels[mark.request];
  // The head's cancels come in order, so one that is not newer is a repetition.
  if (known.count > 0) {
    const State &last = known.ring[(known.count - 1) % remembered].state;
    if (pack(mark.confirmed, mark.ended) <= pack(last.confirmed, last.ended))
      return;
  }
  known.ring[known.count++ % remembered] = {{mark.confirmed, mark.ended},
                                            decided};
}

EpochBoard::State EpochBoard::get(RequestId request) const {
  assert(request >= 0 && request < count);
  int64_t mark = marks[request].load(std::memory_order_acquire);
  // The arithmetic shift rounds down, so that noNode comes back as noNode.
  return {mark >> 1, (mark & 1) != 0};
}

} // namespace sluice
