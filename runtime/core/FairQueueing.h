//===- FairQueueing.h - a fair order of requests of tenants ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Orders requests so that tenants get fair shares of the work, however many
// requests a tenant submits and however long these are (VirtualTimes.h). A
// tenant waits, in the words of VirtualTimes, while one of its requests waits
// and may run. Its virtual time advances by whole quanta only, so tenants with
// equal shares take turns of a quantum and do not preempt each other at each
// token.
//
// Queue priorities. The i-th request of a tenant, counted from 0, has the
// tenant's virtual time plus i quanta as its queue priority, whether it waits
// or runs. So the requests of two tenants that begin at once interleave. The
// tenant's own order decides which one is the i-th; an urgent request delays
// only other requests of its tenant.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_FAIRQUEUEING_H
#define SLUICE_RUNTIME_CORE_FAIRQUEUEING_H

#include "runtime/core/Head.h"
#include "runtime/core/VirtualTimes.h"

#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

namespace sluice {

/// The terms on which a tenant's requests run.
struct TenantTerms {
  static constexpr double minWeight = 0.001, maxWeight = 1000;
  double weight = 1; ///< the weight of its share, from minWeight to maxWeight
  int64_t maxRunning = 0; ///< its requests that may run at once; 0 for no limit
};

/// Thread-compatible. Unless stated otherwise, a method takes O(log requests).
class FairQueueing {
public:
  /// A request's tenant, and the request's place among those of the tenant.
  struct Place {
    TenantNumber tenant = 0;
    QueuePriority own; ///< its number is the request's
  };

  /// `quantum` is in units of work and at least 1.
  explicit FairQueueing(int64_t quantum) : quantum(quantum) {}

  /// Adds a request that waits. The tenant's latest terms apply to all its
  /// requests. Takes O(tenants).
  void add(const Place &place, const TenantTerms &terms);
  void remove(const Place &place);
  /// Notes that a waiting request runs now, or that a running one waits again.
  void setRunning(const Place &place, bool isRunning);
  /// Charges a tenant that has requests for work that was done for it. Returns
  /// whether the queue priorities of its requests have changed. O(1), or
  /// O(tenants) once a quantum.
  bool charge(TenantNumber tenant, int64_t work);

  /// Returns how far each request of the tenant is behind the one before it.
  /// O(1).
  Time distance(TenantNumber tenant) const {
    return lengthOf(tenants.at(tenant), quantum);
  }
  /// Returns a request's queue priority. O(requests of the tenant).
  QueuePriority queuePriority(const Place &place) const;
  /// Calls `visit` for each running request of the tenant with its queue
  /// priority, the first one first. O(requests of the tenant).
  void
  visitRunning(TenantNumber tenant,
               const std::function<void(const QueuePriority &)> &visit) const;
  /// Returns the queue priority of the last waiting request that `isCandidate`
  /// accepts, if there is one. O(tenants) if it accepts the last request of
  /// each tenant.
  std::optional<QueuePriority>
  lastWaiting(const std::function<bool(RequestNumber)> &isCandidate) const;

  /// Returns how many tenants have requests.
  int64_t activeTenants() const { return times.present(); }
  /// Returns of how many tenants something is kept.
  int64_t tenantsKnown() const { return times.known(); }

  /// Begins a walk through the waiting requests, the first one first. Requests
  /// that may not run because their tenant has as many running requests as it
  /// may have are left out. O(tenants).
  void beginWalk();
  /// Returns the next request of the walk with its queue priority. Returns
  /// nothing after the last one, and after a request was added, removed or
  /// waits again.
  std::optional<QueuePriority> next();
  /// Returns whether such a change has ended the walk early.
  bool walkWasCut() const { return isCut; }

private:
  /// Whether a request runs, by its place in the tenant's own order.
  using Requests = std::map<QueuePriority, bool>;
  struct Tenant {
    TenantTerms terms;
    int64_t uncounted = 0; ///< work that its virtual time does not contain yet
    Requests requests;
    int64_t running = 0; ///< of `requests`

    bool isCapped() const {
      return terms.maxRunning > 0 && running >= terms.maxRunning;
    }
    bool waits() const { return running < std::ssize(requests) && !isCapped(); }
  };
  /// The next request of a tenant in a walk.
  struct Cursor {
    QueuePriority queuePriority;
    Time virtualTime{0}; ///< of the tenant
    const Tenant *tenant = nullptr;
    Requests::const_iterator request;
    int64_t index = 0; ///< of the request among the tenant's requests
  };

  Time lengthOf(const Tenant &tenant, int64_t work) const;
  QueuePriority priorityAt(const Tenant &tenant, Time virtualTime,
                           int64_t index, const QueuePriority &own) const;
  void updateState(TenantNumber number, const Tenant &tenant);
  void pushCursor(Cursor cursor);

  int64_t quantum;
  VirtualTimes times;
  std::unordered_map<TenantNumber, Tenant> tenants; ///< those with requests
  std::vector<Cursor> walk; ///< a heap, the first request on top
  bool isCut = false;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_FAIRQUEUEING_H
