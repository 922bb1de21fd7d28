//===- BeginQueue.h - a fair queue of unread requests ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Holds the requests that wait to be read, and serves them fairly between
// tenants: the next one belongs to the tenant for which the least time was
// spent (VirtualTimes.h).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_BEGINQUEUE_H
#define SLUICE_RUNTIME_SERVE_BEGINQUEUE_H

#include "runtime/core/VirtualTimes.h"
#include "runtime/serve/Caller.h"

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <unordered_map>

namespace sluice::serve {

class WorkItem;

/// Not thread-safe: its owner locks. No method costs more than O(entries).
class BeginQueue {
public:
  struct Entry {
    std::shared_ptr<WorkItem> item;
    TenantId tenant = 0;
    Time until{0}; ///< when the entry expires; 0: never
  };

  /// Appends an entry behind those of its tenant. Except for 0, `until` must
  /// not decrease from call to call. If memory runs out, throws and changes
  /// nothing.
  void push(Entry entry);

  bool empty() const { return entries.empty(); }
  int64_t size() const { return static_cast<int64_t>(entries.size()); }

  /// Returns whether an entry waits whose tenant has fewer than `max` in
  /// progress.
  bool hasNext(int64_t max) const { return nextQueue(max) != nullptr; }
  /// Removes and returns the next such entry, and counts it as in progress
  /// until finished().
  Entry takeNext(int64_t max);
  /// Reports that an entry of `tenant` has ended and took `used`.
  void finished(TenantId tenant, Time used);

  /// Returns when the first entry expires; 0 if it never does.
  Time firstExpiry() const;
  /// Removes and returns the first entry. Call it once firstExpiry() has
  /// passed.
  Entry takeExpired();

  /// Removes and returns the entry of `item`; an empty entry if there is none.
  Entry withdraw(const WorkItem &item);
  /// Removes and returns the last entry of the tenant that has the most
  /// entries, if `newcomer` has at least two fewer; otherwise returns an empty
  /// entry.
  Entry takeFromMost(TenantId newcomer);

private:
  using Entries = std::list<Entry>;
  struct TenantQueue {
    std::deque<Entries::iterator> waiting;
    int64_t underWay = 0;
  };

  const TenantQueue *nextQueue(int64_t max) const;
  Entry take(Entries::iterator entry);
  void updateState(TenantId tenant);

  Entries entries; ///< in the order of arrival
  /// The queues of tenants that have entries waiting or in progress.
  std::unordered_map<TenantId, TenantQueue> queues;
  VirtualTimes times;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_BEGINQUEUE_H
