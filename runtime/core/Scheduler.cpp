//===- Scheduler.cpp - the queue of requests before the head --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Scheduler.h"

#include "runtime/core/CachePages.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace sluice {

Expected<Scheduler> Scheduler::create(Head head,
                                      const SchedulerLimits &limits) {
  constexpr int64_t max = 1 << 24;
  if (limits.waiting < 0 || limits.waiting > max)
    return failure("scheduler: a queue of ", limits.waiting,
                   " requests is not between 0 and ", max);
  if (limits.queueTimeout.count() < 0 || limits.priorityStep.count() < 0)
    return failure("scheduler: a time is negative");
  return Scheduler(std::move(head), limits);
}

Scheduler::Scheduler(Head head, const SchedulerLimits &limits)
    : head(std::move(head)), limits(limits),
      inSlot(static_cast<size_t>(this->head.limits().requests)) {
  runs.reserve(inSlot.size());
  reserved.reserve(inSlot.size());
}

void Scheduler::clear() {
  reported.tokens.clear();
  reported.ends.clear();
  std::optional<Time> wake = commands().wake;
  commands().clear();
  commands().wake = wake;
}

Scheduler::Load Scheduler::load() const {
  return {.running = std::ssize(known) - std::ssize(waiting),
          .waiting = std::ssize(waiting) - preemptedNow,
          .preempted = preemptedNow,
          .reserved = newcomersReserved};
}

/// Returns how many requests count for the queue's limit.
int64_t Scheduler::queued() const {
  return std::ssize(waiting) - preemptedNow - newcomersReserved;
}

/// Returns how many requests may be queued or preempted. If pages run out, more
/// can be preempted.
int64_t Scheduler::maxWaiting() const {
  return limits.waiting + head.limits().requests;
}

int64_t Scheduler::freeSlots() const {
  return head.limits().requests - std::ssize(runs);
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

static std::string queueFull(const SchedulerLimits &limits) {
  return "request: " + std::to_string(limits.waiting) +
         " requests wait already";
}

Submission Scheduler::submit(ScheduledRequest wanted, Time now) {
  constexpr int32_t maxPriority = 1000;
  if (wanted.priority < -maxPriority || wanted.priority > maxPriority)
    return {Refusal::Invalid, 0,
            "request: priority " + std::to_string(wanted.priority) +
                " is not between -1000 and 1000"};
  if (Status s = head.check(wanted.spec); !s.ok())
    return {Refusal::Invalid, 0, s.message()};
  if (!(wanted.terms.weight > 0) || wanted.terms.maxRunning < 0)
    return {Refusal::Invalid, 0,
            "request: its tenant's terms are out of range"};
  RequestNumber number = next++;
  QueuePriority queuePriority = assignQueuePriority(wanted, number, now);
  wanted.spec.queuePriority = queuePriority;
  makeWayFor(queuePriority, now);
  Known &request = known[number];
  request.queuePriority = queuePriority;
  request.tenant = wanted.tenant;
  request.maxRunning = wanted.terms.maxRunning;
  request.came = now;
  request.deadline = wanted.deadline;
  if (limits.queueTimeout.count() > 0)
    request.startsUntil = now + limits.queueTimeout;
  waiting.emplace(queuePriority, Waiting{std::move(wanted.spec)});
  queueChanged(queuePriority);
  bool isEvicted =
      preemptedNow + queued() > maxWaiting() && evictLast(number, now);
  admitWaiting(now);
  isEvicted =
      isEvicted || (queued() > limits.waiting && evictLast(number, now));
  if (auto taken = known.find(number); taken != known.end()) {
    if (taken->second.startsUntil)
      alarms.emplace(*taken->second.startsUntil, number);
    if (taken->second.deadline)
      alarms.emplace(*taken->second.deadline, number);
  }
  settle(now);
  if (isEvicted)
    return {Refusal::QueueFull, 0, queueFull(limits)};
  return {Refusal::None, number, {}};
}

/// Returns the queue priority of a newcomer. Other requests of its tenant may
/// get later queue priorities.
QueuePriority Scheduler::assignQueuePriority(const ScheduledRequest &wanted,
                                             RequestNumber number, Time now) {
  const QueuePriority own = {now + wanted.priority * limits.priorityStep,
                             number};
  std::optional<Time> virtualNow;
  if (!runs.empty())
    virtualNow = runs.front().at;
  QueuePriority queuePriority =
      fairness.add(number, wanted.tenant, wanted.terms.weight, own, virtualNow,
                   priorityChanges);
  for (const FairQueueing::Change &change : priorityChanges)
    changeQueuePriority(change);
  return queuePriority;
}

/// Moves a waiting or running request to its new queue priority.
void Scheduler::changeQueuePriority(const FairQueueing::Change &change) {
  Known &request = known.at(change.number);
  const QueuePriority before =
      std::exchange(request.queuePriority, change.queuePriority);
  queueChanged(before);
  if (request.slot) {
    std::erase(runs, before);
    runs.insert(std::ranges::upper_bound(runs, change.queuePriority),
                change.queuePriority);
    return head.setQueuePriority(*request.slot, change.queuePriority);
  }
  auto moved = waiting.extract(before);
  moved.key() = moved.mapped().spec.queuePriority = change.queuePriority;
  waiting.insert(std::move(moved));
  if (auto kept = std::ranges::find(reserved, before); kept != reserved.end()) {
    *kept = change.queuePriority;
    std::ranges::sort(reserved);
  }
}

/// Returns whether the tenant has as many running requests as it may have.
bool Scheduler::isCapped(RequestNumber number) const {
  const Known &request = known.at(number);
  if (request.maxRunning == 0)
    return false;
  auto running = runningOf.find(request.tenant);
  return running != runningOf.end() && running->second >= request.maxRunning;
}

void Scheduler::stopRunning(const Known &request) {
  std::erase(runs, request.queuePriority);
  auto running = runningOf.find(request.tenant);
  if (--running->second == 0)
    runningOf.erase(running);
}

/// Starts the last request with a reserved slot if the newcomer is about to
/// take that slot and the queue has no place for that request.
void Scheduler::makeWayFor(const QueuePriority &newcomer, Time now) {
  if (reserved.empty() || reserved.back() < newcomer ||
      freeSlots() > std::ssize(reserved) || queued() < limits.waiting)
    return;
  stopAwaiting(reserved.back());
  admitWaiting(now);
}

/// Makes the request start as soon as there is room, with the part of its
/// prefix that is pinned.
void Scheduler::stopAwaiting(const QueuePriority &queuePriority) {
  Waiting &request = waiting.at(queuePriority);
  request.mayAwait = false;
  request.awaits.reset();
  queueChanged(queuePriority);
}

/// Evicts from the queue the last request that has neither started nor a
/// reserved slot; there must be one. Returns whether that is the newcomer; the
/// end of another request is reported.
bool Scheduler::evictLast(RequestNumber newcomer, Time now) {
  auto last = std::find_if(waiting.rbegin(), waiting.rend(), [&](auto &each) {
    return !known.at(each.first.number).started &&
           !std::ranges::binary_search(reserved, each.first);
  });
  assert(last != waiting.rend() && "nobody waits for a first row");
  QueuePriority queuePriority = last->first;
  waiting.erase(queuePriority);
  queueChanged(queuePriority);
  if (queuePriority.number == newcomer) {
    fairness.remove(newcomer, known.at(newcomer).tenant);
    known.erase(newcomer);
    return true;
  }
  reportEnd(queuePriority.number, FinishReason::Cancelled, now);
  reported.ends.back().refusal = Refusal::QueueFull;
  reported.ends.back().error = queueFull(limits);
  return false;
}

void Scheduler::finish(RequestNumber number, FinishReason reason, Time now) {
  auto found = known.find(number);
  if (found == known.end())
    return;
  if (found->second.slot) {
    head.finish(*found->second.slot, reason, now);
  } else {
    bool isNew = !found->second.started;
    preemptedNow -= !isNew;
    waiting.erase(found->second.queuePriority);
    newcomersReserved -=
        std::erase(reserved, found->second.queuePriority) > 0 && isNew;
    queueChanged(found->second.queuePriority);
    reportEnd(number, reason, now);
  }
  settle(now);
}

void Scheduler::onResults(const ResultFrame &frame, Time now) {
  head.onResults(frame, now);
  settle(now);
}

void Scheduler::onGuesses(const GuessFrame &frame, Time now) {
  head.onGuesses(frame, now);
  settle(now);
}

void Scheduler::onWake(Time now) {
  endAlarms(now);
  head.onWake(now);
  settle(now);
}

/// Runs after each event: takes the head's events, admits, sets the wake-up.
void Scheduler::settle(Time now) {
  takeHeadEvents(now);
  admitWaiting(now);
  if (!alarms.empty()) {
    std::optional<Time> &wake = commands().wake;
    Time first = alarms.begin()->first;
    wake = wake ? std::min(*wake, first) : first;
  }
}

/// Turns the head's events about slots into events for users.
void Scheduler::takeHeadEvents(Time now) {
  HeadCommands &commands = head.commands();
  for (TokenEvent &token : commands.tokens) {
    reported.tokens.push_back({inSlot[token.request], token.request,
                               token.token, std::move(token.report),
                               token.ofPrompt});
  }
  commands.tokens.clear();
  for (FinishEvent &finish : commands.finished) {
    Known &request = known.at(inSlot[finish.request]);
    request.speculation += head.counters(finish.request);
    stopRunning(request);
    reportEnd(inSlot[finish.request], finish.reason, now);
    reported.ends.back().error = std::move(finish.error);
  }
  commands.finished.clear();
  for (PreemptEvent &event : commands.preempted) {
    RequestNumber number = inSlot[event.request];
    Known &request = known.at(number);
    request.slot.reset();
    request.speculation += event.counters;
    stopRunning(request);
    waiting.emplace(request.queuePriority, Waiting{std::move(event.spec)});
    ++preemptedNow;
    ++preemptionsSoFar;
  }
  commands.preempted.clear();
}

void Scheduler::reportEnd(RequestNumber number, FinishReason reason, Time now) {
  auto request = known.find(number);
  if (request->second.deadline)
    alarms.erase({*request->second.deadline, number});
  if (request->second.startsUntil)
    alarms.erase({*request->second.startsUntil, number});
  UserEnd &event = reported.ends.emplace_back();
  event.number = number;
  event.slot = request->second.lastSlot;
  event.started = request->second.started.has_value();
  event.cachedTokens = request->second.cachedTokens;
  event.waited = request->second.started.value_or(now) - request->second.came;
  event.speculation = request->second.speculation;
  fairness.remove(number, request->second.tenant);
  known.erase(request);
  event.reason = reason;
}

/// Starts the requests with a reserved slot whose time in the queue is over.
void Scheduler::startReserved(Time now) {
  for (auto at = alarms.begin(); at != alarms.end() && at->first <= now; ++at) {
    const Known &request = known.at(at->second);
    if (request.startsUntil && *request.startsUntil <= now &&
        (!request.deadline || *request.deadline > now) &&
        std::ranges::binary_search(reserved, request.queuePriority))
      stopAwaiting(request.queuePriority);
  }
  admitWaiting(now);
}

/// Ends the requests whose deadline has passed or whose time in the queue is
/// over.
void Scheduler::endAlarms(Time now) {
  startReserved(now);
  while (!alarms.empty() && alarms.begin()->first <= now)
    finish(alarms.begin()->second, FinishReason::Timeout, now);
}

//===----------------------------------------------------------------------===//
// Admission
//===----------------------------------------------------------------------===//

/// Notes that a request came to this place in the queue or left it.
void Scheduler::queueChanged(const QueuePriority &at) {
  hasChanged |= !stuck || at <= *stuck || tooManyWait;
}

/// Admits waiting requests in order. Does so only if something has changed,
/// because a queue can be long and looking up the pinned pages of a long prompt
/// takes time.
void Scheduler::admitWaiting(Time now) {
  if (!std::exchange(hasChanged, false) && chancesSeen == head.chances())
    return;
  stuck.reset();
  tooManyWait = false;
  reserved.clear();
  newcomersReserved = 0;
  HeadClaims claims;
  std::optional<Handover> changed;
  for (auto at = waiting.begin(); at != waiting.end();) {
    if (isCapped(at->first.number)) {
      ++at;
      continue;
    }
    if (!canHaveSlot(at->first, claims)) {
      stuck = at->first;
      break;
    }
    std::optional<ComingPrefix> awaited = at->second.awaits;
    if (waitsForPrefix(at->second, changed)) {
      if (claims.slots < freeSlots()) {
        reserved.push_back(at->first);
        newcomersReserved += !known.at(at->first.number).started;
      }
      ++claims.slots;
      // One page more is for the request admitted in its place to grow into.
      claims.pages += at->second.awaits->rest + 1;
      ++at;
    } else if (auto slot = admit(*at, claims, now)) {
      at = run(at, *slot, now);
      if (awaited)
        changed = {*awaited, head.inherit(*slot, *awaited)};
      takeHeadEvents(now);
    } else {
      stuck = at->first;
      break;
    }
  }
  chancesSeen = head.chances();
}

/// Returns whether there is a slot beside the claimed ones that is free or
/// belongs to a request with a later queue priority.
bool Scheduler::canHaveSlot(const QueuePriority &queuePriority,
                            const HeadClaims &claims) const {
  int64_t lacking = claims.slots + 1 - freeSlots();
  return lacking <= 0 || (lacking <= std::ssize(runs) &&
                          queuePriority < *(runs.end() - lacking));
}

/// Returns whether the request waits for a prefix. After a handover the request
/// is not compared with the running requests again: it waits for the same
/// prefix from the request that now computes it, as far as both waited for it.
bool Scheduler::waitsForPrefix(Waiting &request,
                               const std::optional<Handover> &changed) {
  std::optional<ComingPrefix> &awaits = request.awaits;
  if (!request.mayAwait)
    return false;
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
/// the request: its own, or a later one if too many requests would be
/// preempted.
QueuePriority Scheduler::lastToStay(const QueuePriority &queuePriority) {
  bool started = known.at(queuePriority.number).started.has_value();
  int64_t max =
      std::max<int64_t>(maxWaiting() - preemptedNow - queued() + 1, started);
  tooManyWait =
      max < std::ssize(runs) && queuePriority < *(runs.end() - max - 1);
  return tooManyWait ? *(runs.end() - max - 1) : queuePriority;
}

/// Admits the request to a slot, if necessary by preempting requests with a
/// later queue priority. Returns nothing, and preempts nobody, if there is no
/// room.
std::optional<RequestId> Scheduler::admit(Queue::value_type &first,
                                          const HeadClaims &claims, Time now) {
  auto &[queuePriority, request] = first;
  std::optional<QueuePriority>
      stays; // set once preemptions are known to make enough room
  while (true) {
    Expected<std::optional<RequestId>> slot =
        head.submit(request.spec, now, claims);
    // The request was checked on arrival; its generated tokens fit as well.
    assert(slot && "a request that waits can run");
    if (!slot || *slot)
      return slot ? *slot : std::nullopt;
    if (!stays) {
      stays = lastToStay(queuePriority);
      if (runs.empty() || runs.back() <= *stays ||
          !head.fitsWithout(*stays, request.spec, claims))
        return std::nullopt;
    }
    if (!head.preemptLast(*stays, now))
      return std::nullopt;
    takeHeadEvents(now);
  }
}

/// Notes that the waiting request runs in `slot`. Returns the next waiting
/// request.
Scheduler::Queue::iterator Scheduler::run(Queue::iterator first, RequestId slot,
                                          Time now) {
  RequestNumber number = first->first.number;
  Known &request = known.at(number);
  request.slot = request.lastSlot = slot;
  if (auto until = std::exchange(request.startsUntil, std::nullopt))
    alarms.erase({*until, number});
  inSlot[slot] = number;
  runs.insert(std::ranges::upper_bound(runs, request.queuePriority),
              request.queuePriority);
  ++runningOf[request.tenant];
  if (request.started) {
    --preemptedNow;
  } else {
    request.started = now;
    request.cachedTokens =
        head.ledger().prefixPages(slot) * CachePages::pageTokens;
  }
  return waiting.erase(first);
}

} // namespace sluice
