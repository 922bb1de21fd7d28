//===- FairQueueing.h - fair queue priorities for tenants -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives requests queue priorities that are fair between tenants, however many
// requests one tenant submits: start-time fair queueing (Goyal, Vin, Cheng,
// SIGCOMM 1996). Each request takes a tag in virtual time: the previous tag of
// its tenant plus a step divided by the tenant's weight, or the current virtual
// time if that is later. So the tags of two tenants with many requests
// interleave, and the first request of a new tenant is among the first even if
// another tenant has a hundred waiting.
//
// Within a tenant, priority and arrival decide: the tenant's first request by
// these has the tenant's first tag, and so on. An urgent request therefore
// takes a tag from other requests of its own tenant only.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_FAIRQUEUEING_H
#define SLUICE_RUNTIME_CORE_FAIRQUEUEING_H

#include "runtime/core/Head.h"

#include <unordered_map>
#include <vector>

namespace sluice {

/// Identifies a request from its submission on. Numbers are never reused; later
/// requests have higher numbers.
using RequestNumber = int64_t;
/// Identifies the tenant that a request belongs to.
using TenantNumber = uint64_t;

/// Assigns queue priorities. Thread-compatible. add() takes O(requests of the
/// tenant) if the new request is more urgent than others, else O(1).
class FairQueueing {
public:
  /// A request whose queue priority has changed, and the new one.
  struct Change {
    RequestNumber number = 0;
    QueuePriority queuePriority;
  };

  /// Adds a request and returns its queue priority. `own` orders the requests
  /// of the tenant among themselves. `virtualNow` is the earliest queue
  /// priority of the running requests, if there are any. `changes` is set to
  /// the other requests whose queue priorities have changed.
  QueuePriority add(RequestNumber number, TenantNumber tenant, double weight,
                    const QueuePriority &own, std::optional<Time> virtualNow,
                    std::vector<Change> &changes);
  /// Removes a request that has ended.
  void remove(RequestNumber number, TenantNumber tenant);

private:
  /// The distance between two tags of a tenant of weight 1.
  static constexpr Time step = std::chrono::seconds(1);

  struct Entry {
    QueuePriority own; ///< its number is the request's
    Time tag{0};
  };
  /// Sorted by `own`; the tags have the same order.
  using Entries = std::vector<Entry>;

  std::unordered_map<TenantNumber, Entries> tenants; ///< with requests
  Time lastVirtualNow{0};
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_FAIRQUEUEING_H
