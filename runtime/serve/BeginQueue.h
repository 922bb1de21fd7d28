//===- BeginQueue.h - requests that wait to be read -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The requests that wait to be read, served fairly between tenants: next is the
// one whose tenant has used the least time so far (start-time fair queueing:
// Goyal, Vin, Cheng, SIGCOMM 1996). A tenant that has been away starts at the
// time of those that are here, so that nobody saves up a turn.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_BEGINQUEUE_H
#define SLUICE_RUNTIME_SERVE_BEGINQUEUE_H

#include "runtime/core/Rows.h"
#include "runtime/serve/Caller.h"

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <unordered_map>

namespace sluice::serve {

class WorkItem;

/// Thread-compatible: its owner locks. No method costs more than O(what waits).
class BeginQueue {
public:
  struct Entry {
    std::shared_ptr<WorkItem> item;
    TenantId tenant = 0;
    Time until{0}; ///< when it expires; 0: never
  };

  /// Appends an entry behind those of its tenant. `until` must not go back from
  /// call to call, but for 0. Without memory for it, all is as before.
  void push(Entry entry);

  bool empty() const { return entries.empty(); }
  int64_t size() const { return static_cast<int64_t>(entries.size()); }

  /// Whether there is one whose tenant has fewer than `max` under way.
  bool hasNext(int64_t max) const { return nextQueue(max) != nullptr; }
  /// Takes out the next one of those, and counts it as under way until
  /// finished().
  Entry takeNext(int64_t max);
  /// What a tenant had under way has ended, and has used so much time.
  void finished(TenantId tenant, Time used);

  /// When the first entry expires; 0: none does.
  Time firstExpiry() const;
  /// Takes out the first entry; firstExpiry() has come.
  Entry takeExpired();

  /// Takes out the entry of this item; an empty one where there is none.
  Entry withdraw(const WorkItem &item);
  /// Takes out the last entry of the tenant that has the most, if `newcomer`
  /// has at least two fewer; an empty one otherwise.
  Entry takeFromMost(TenantId newcomer);

private:
  using Entries = std::list<Entry>;
  struct TenantQueue {
    std::deque<Entries::iterator> waiting;
    int64_t underWay = 0;
    Time used{0};
  };

  const TenantQueue *nextQueue(int64_t max) const;
  Entry take(Entries::iterator entry);
  void forgetIfIdle(TenantId tenant);

  Entries entries; ///< in the order of their arrival
  std::unordered_map<TenantId, TenantQueue>
      queues;          ///< of tenants that are here
  Time virtualTime{0}; ///< what the tenant of the latest takeNext() had used
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_BEGINQUEUE_H
