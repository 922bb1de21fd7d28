//===- EmulatedLinks.h - links as slow as described ones ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   comm = emulateLinks(std::move(comm), links);
//
// Each directed pair of ranks has a link with a latency and a speed. The sender
// stamps each frame with the time at which such a link would have delivered it,
// and the receiving end gives it to its receiver no sooner. A link sends one
// data message after the other:
//
//   start = max(now, when the link is free)
//   free  = start + bytes / speed
//   deliverAt = free + latency
//
// Control messages take their own time, but do not queue behind data: they are
// small, and on a real machine a packet of data long. All ranks are on this
// machine, whose monotonic clock they share.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_EMULATEDLINKS_H
#define SLUICE_RUNTIME_COMM_EMULATEDLINKS_H

#include "runtime/comm/Communicator.h"

#include <limits>
#include <memory>

namespace sluice::comm {

struct EmulatedLink {
  std::chrono::nanoseconds latency{0};
  double bytesPerSecond = std::numeric_limits<double>::infinity();

  /// How long `bytes` keep the link busy.
  std::chrono::nanoseconds occupancy(int64_t bytes) const;
};

/// Wraps `inner`, which has not been started. `links` has size * size entries,
/// the one from `f` to `t` at [f * size + t]; each speed is above 0.
///
/// Messages must be frames. Besides those that `inner` holds back, each
/// receiver keeps up to `capacity` data messages of each source whose time has
/// not come. Callbacks come on a thread of the wrapper. Errors of send(): also
/// a message without room for a frame's header.
std::unique_ptr<Communicator> emulateLinks(std::unique_ptr<Communicator> inner,
                                           std::vector<EmulatedLink> links,
                                           int64_t capacity = defaultCapacity);

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_EMULATEDLINKS_H
