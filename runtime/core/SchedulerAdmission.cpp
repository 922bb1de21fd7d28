//===- SchedulerAdmission.cpp - lets waiting requests run -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Scheduler.h"

#include "runtime/core/CachePages.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

namespace sluice {

/// Notes that a request came to this place in the queue or left it.
void Scheduler::queueChanged(const QueuePriority &at) {
  hasChanged = hasChanged || !stuck || tooManyWait ||
               at <= fairness.queuePriority(known.at(*stuck).place);
}

bool Scheduler::isReserved(RequestNumber number) const {
  return std::ranges::find(reserved, number) != reserved.end();
}

/// Admits waiting requests in order. Does so only if something has changed,
/// because a queue can be long and looking up the pinned pages of a long prompt
/// takes time.
void Scheduler::admitWaiting(Time now) {
  if (!std::exchange(hasChanged, false) && chancesSeen == head.chances())
    return;
  std::optional<Handover> changed;
  do
    walkThroughQueue(changed, now);
  while (fairness.walkWasCut());
  hasChanged = false;
  chancesSeen = head.chances();
}

/// Admits waiting requests in order until one has no room, or until an
/// admission has changed the queue.
void Scheduler::walkThroughQueue(std::optional<Handover> &changed, Time now) {
  stuck.reset();
  tooManyWait = false;
  reserved.clear();
  newcomersReserved = 0;
  HeadClaims claims;
  fairness.beginWalk();
  while (std::optional<QueuePriority> first = fairness.next()) {
    Known &request = known.at(first->number);
    if (!request.waiting) // a newcomer that has not joined the queue yet
      continue;
    const QueuePriority spared = lastSpared(request, *first);
    if (!canHaveSlot(spared, claims)) {
      stuck = first->number;
      return;
    }
    Waiting &waits = *request.waiting;
    waits.spec.queuePriority = *first;
    std::optional<ComingPrefix> awaited = waits.awaits;
    if (waitsForPrefix(waits, changed)) {
      if (claims.slots < freeSlots()) {
        reserved.push_back(first->number);
        newcomersReserved += !request.started;
      }
      ++claims.slots;
      // One page more is for the request admitted in its place to grow into.
      claims.pages += waits.awaits->rest + 1;
    } else if (auto slot = admit(request, spared, claims, now)) {
      run(request, *slot, now);
      if (awaited)
        changed = {*awaited, head.inherit(*slot, *awaited)};
      takeHeadEvents(now);
    } else {
      stuck = first->number;
      return;
    }
  }
}

/// Returns the queue priority after which running requests may be preempted for
/// the request: they are at least as far behind it as the next one of its
/// tenant.
QueuePriority Scheduler::lastSpared(const Known &request,
                                    const QueuePriority &queuePriority) const {
  return {queuePriority.at + fairness.distance(request.place.tenant) - Time(1),
          std::numeric_limits<int64_t>::max()};
}

/// Returns whether there is a slot beside the claimed ones that is free or
/// belongs to a request after `spared`.
bool Scheduler::canHaveSlot(const QueuePriority &spared,
                            const HeadClaims &claims) const {
  int64_t lacking = claims.slots + 1 - freeSlots();
  return lacking <= 0 ||
         (lacking <= std::ssize(runs) && spared < *(runs.end() - lacking));
}

/// Returns whether the request waits for a prefix. After a handover the request
/// is not compared with the running requests again: it waits for the same
/// prefix from the request that now computes it, as far as both waited for it.
bool Scheduler::waitsForPrefix(Waiting &request,
                               const std::optional<Handover> &changed) {
  std::optional<ComingPrefix> &awaits = request.awaits;
  if (!request.mayAwait)
    return false;
  // The other one may have moved back since, if it is of another tenant. Then
  // it does not compute the prefix first any more.
  if (awaits) {
    const Known *from = inSlot[static_cast<size_t>(awaits->from)];
    if (from && request.spec.queuePriority < from->queuePriority)
      awaits.reset();
  }
  if (awaits && head.await(*awaits))
    return true;
  if (awaits && changed && changed->gone.from == awaits->from &&
      changed->gone.firstNode == awaits->firstNode) {
    ComingPrefix next = changed->now;
    next.pages = std::min(awaits->pages, next.pages);
    next.rest = awaits->pages + awaits->rest - next.pages;
    awaits = next;
  } else {
    awaits.reset();
  }
  if (!awaits || !head.await(*awaits)) {
    awaits = head.comingPrefix(request.spec);
    if (!awaits || !head.await(*awaits))
      return false;
  }
  ++prefixWaitsSoFar;
  return true;
}

/// Returns the queue priority after which running requests may be preempted for
/// a request: `spared`, or a later one if too many requests would be preempted.
/// `started`: whether that request was preempted itself.
QueuePriority Scheduler::lastToStay(bool started, const QueuePriority &spared) {
  int64_t max =
      std::max<int64_t>(maxWaiting() - preemptedNow - queued() + 1, started);
  tooManyWait = max < std::ssize(runs) && spared < *(runs.end() - max - 1);
  return tooManyWait ? *(runs.end() - max - 1) : spared;
}

/// Admits the waiting request to a slot, if necessary by preempting requests
/// after `spared`. Returns nothing, and preempts nobody, if there is no room.
std::optional<RequestId> Scheduler::admit(Known &request,
                                          const QueuePriority &spared,
                                          const HeadClaims &claims, Time now) {
  RequestSpec &spec = request.waiting->spec;
  std::optional<QueuePriority>
      stays; // set once preemptions are known to make enough room
  while (true) {
    Expected<std::optional<RequestId>> slot = head.submit(spec, now, claims);
    // The request was checked on arrival; its generated tokens fit as well.
    assert(slot && "a request that waits can run");
    if (!slot || *slot)
      return slot ? *slot : std::nullopt;
    if (!stays) {
      stays = lastToStay(request.started.has_value(), spared);
      if (runs.empty() || runs.back() <= *stays ||
          !head.fitsWithout(*stays, spec, claims))
        return std::nullopt;
    }
    if (!head.preemptLast(*stays, now))
      return std::nullopt;
    admitting = request.place.tenant;
    takeHeadEvents(now);
    admitting.reset();
  }
}

/// Notes that a waiting request runs in `slot`.
void Scheduler::run(Known &request, RequestId slot, Time now) {
  request.waiting.reset();
  --waiting;
  request.slot = request.lastSlot = slot;
  if (auto until = std::exchange(request.startsUntil, std::nullopt))
    alarms.erase({*until, request.number()});
  inSlot[slot] = &request;
  const int64_t cached =
      head.ledger().prefixPages(slot) * CachePages::pageTokens;
  if (std::exchange(request.gaveWay, false) && cached < request.charged)
    request.staysUntil = 2 * request.charged - cached;
  request.charged = std::max(request.charged, cached);
  if (request.started) {
    --preemptedNow;
  } else {
    request.started = now;
    request.cachedTokens = cached;
  }
  // Since it was looked at, the tenant may have been charged for others.
  request.queuePriority =
      priorityOfRunning(request, fairness.queuePriority(request.place));
  runs.insert(std::ranges::upper_bound(runs, request.queuePriority),
              request.queuePriority);
  head.setQueuePriority(slot, request.queuePriority);
  fairness.setRunning(request.place, true);
}

} // namespace sluice
