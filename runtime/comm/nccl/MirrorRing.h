//===- MirrorRing.h - allocates room in two equal rings -------------------===//
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

/// Allocates regions in a ring of `bytes` bytes, which are freed in the order
/// in which they were taken. The sender and the receiver of a link each have
/// memory of this size, and a message lies at the same offset in both. So the
/// sender, which owns this object, knows when the receiver has room.
/// Thread-compatible.
class MirrorRing {
public:
  static constexpr int64_t alignment = 256;

  explicit MirrorRing(int64_t bytes) : bytes(bytes) {
    assert(bytes > 0 && bytes % alignment == 0);
  }

  int64_t size() const { return bytes; }
  size_t held() const { return regions.size(); }

  /// Takes `count` contiguous bytes, 0 < count <= size(), and returns their
  /// offset; nothing if there is no room now.
  std::optional<int64_t> take(int64_t count) {
    assert(count > 0 && count <= bytes);
    int64_t rounded = (count + alignment - 1) / alignment * alignment;
    if (regions.empty())
      next = 0;
    int64_t oldest = regions.empty() ? 0 : regions.front();
    bool isAhead = regions.empty() || next > oldest;
    int64_t offset = next;
    if (isAhead && bytes - next < rounded) {
      // The piece at the end is too short, so the region starts at 0.
      offset = 0;
      isAhead = false;
    }
    if (!isAhead && oldest - offset < rounded)
      return std::nullopt;
    next = offset + rounded;
    regions.push(offset);
    return offset;
  }

  /// Frees the oldest region; there must be one.
  void giveOldest() { regions.pop(); }

private:
  int64_t bytes;
  int64_t next = 0; ///< the end of the newest region
  /// The offsets of the regions that are held, oldest first.
  Ring<int64_t> regions;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_MIRRORRING_H
