//===- MirrorRing.h - room in two equal pieces of memory ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_MIRRORRING_H
#define SLUICE_RUNTIME_COMM_NCCL_MIRRORRING_H

#include "runtime/comm/Ring.h"

#include <cassert>
#include <cstdint>
#include <optional>

namespace sluice::comm {

/// Hands out room in a ring of `bytes`, first come, first gone. Sender and
/// receiver of a link have a piece of memory of this size each, and what is
/// sent lies in both at the same offset; so the sender, who keeps this, knows
/// when there is room at the other side. Thread-compatible.
class MirrorRing {
public:
  static constexpr int64_t alignment = 256;

  explicit MirrorRing(int64_t bytes) : bytes(bytes) {
    assert(bytes > 0 && bytes % alignment == 0);
  }

  int64_t size() const { return bytes; }
  size_t held() const { return regions.size(); }

  /// The offset of `count` contiguous bytes, 0 < count <= size(); nothing while
  /// there is no room.
  std::optional<int64_t> take(int64_t count) {
    assert(count > 0 && count <= bytes);
    int64_t rounded = (count + alignment - 1) / alignment * alignment;
    if (regions.empty())
      next = 0;
    int64_t oldest = regions.empty() ? 0 : regions.front();
    bool isAhead = regions.empty() || next > oldest;
    int64_t offset = next;
    if (isAhead && bytes - next < rounded) {
      // The piece at the end is too short: on from the start.
      offset = 0;
      isAhead = false;
    }
    if (!isAhead && oldest - offset < rounded)
      return std::nullopt;
    next = offset + rounded;
    regions.push(offset);
    return offset;
  }

  /// The oldest that is held goes; there is one.
  void giveOldest() { regions.pop(); }

private:
  int64_t bytes;
  int64_t next = 0;      ///< behind the newest region
  Ring<int64_t> regions; ///< where those that are held begin, the oldest first
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_MIRRORRING_H
