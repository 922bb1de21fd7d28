//===- EmulatedLinks.h - communicator with emulated latency and speed -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes a communicator as slow as the links of a described cluster:
//
//   comm = emulateLinks(std::move(comm), links);
//
// Each directed pair of ranks has a link with a latency and a speed. The sender
// stamps each frame with the time at which such a link would have delivered it,
// and the receiving end gives the frame to its receiver no sooner. A link sends
// one data message after the other:
//
//   start = max(now, when the link is free)
//   free  = start + bytes / speed
//   deliverAt = free + latency
//
// A control message takes its own time, but does not queue behind data: it is
// small, and on a real network it would wait for one packet of data at most.
// All ranks are on this machine and share its monotonic clock.
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

  /// Returns how long `bytes` keep the link busy.
  std::chrono::nanoseconds occupancy(int64_t bytes) const;
};

/// Wraps `inner`, which must not have been started. `links` has size * size
/// entries; the link from `f` to `t` is at [f * size + t]. Each speed is above
/// 0.
///
/// Messages must be frames. Besides the messages that `inner` holds back, each
/// receiver keeps up to `capacity` data messages of each source whose time has
/// not come. Callbacks come on a thread of the wrapper. send() also refuses a
/// message that is shorter than a frame's header.
std::unique_ptr<Communicator> emulateLinks(std::unique_ptr<Communicator> inner,
                                           std::vector<EmulatedLink> links,
                                           int64_t capacity = defaultCapacity);

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_EMULATEDLINKS_H
