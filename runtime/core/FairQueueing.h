//===- FairQueueing.h - queue priorities that are fair --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives requests their queue priorities. Between tenants they are fair,
// whatever one of them asks for: start-time fair queueing (Goyal, Vin, Cheng,
// SIGCOMM 1996). Each request takes a tag in virtual time, one step behind the
// tag before it of the same tenant, or the virtual time of now, if that is
// later. So the tags of two tenants with many requests interleave, and one that
// comes when another has a hundred waiting is among the first.
//
// Among the requests of a tenant it is priority and arrival that count: the
// first of them has the tenant's first tag, and so on. One that comes with
// priority takes a tag from another of its own tenant, and from nobody else.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_FAIRQUEUEING_H
#define SLUICE_RUNTIME_CORE_FAIRQUEUEING_H

#include "runtime/core/Head.h"

#include <unordered_map>
#include <vector>

namespace sluice {

/// A request, from its submission on; never used again. Later ones have higher
/// numbers.
using RequestNumber = int64_t;
/// Whose request it is.
using TenantNumber = uint64_t;

/// Thread-compatible. Time of add(): O(requests of the tenant) where one comes
/// with priority, else O(1).
class FairQueueing {
public:
  /// A request whose queue priority has changed, and the new one.
  struct Change {
    RequestNumber number = 0;
    QueuePriority queuePriority;
  };

  /// A request comes, which its tenant's others are compared with by `own`.
  /// Returns its queue priority. `virtualNow`: the earliest of those that run,
  /// where there is one. `changes` becomes the others whose priorities have
  /// changed.
  QueuePriority add(RequestNumber number, TenantNumber tenant, double weight,
                    const QueuePriority &own, std::optional<Time> virtualNow,
                    std::vector<Change> &changes);
  /// A request has ended.
  void remove(RequestNumber number, TenantNumber tenant);

private:
  /// Between two tags of a tenant of weight 1.
  static constexpr Time step = std::chrono::seconds(1);

  struct Entry {
    QueuePriority own; ///< its number is the request's
    Time tag{0};
  };
  /// In order of both.
  using Entries = std::vector<Entry>;

  std::unordered_map<TenantNumber, Entries> tenants; ///< with requests
  Time lastVirtualNow{0};
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_FAIRQUEUEING_H
