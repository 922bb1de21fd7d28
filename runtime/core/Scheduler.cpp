//===- Scheduler.cpp - the queue of requests before the head --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Scheduler.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace sluice {

Expected<Scheduler> Scheduler::create(Head head,
                                      const SchedulerLimits &limits) {
  if (limits.waiting < 0 || limits.waiting > SchedulerLimits::maxWaiting)
    return failure("scheduler: a queue of ", limits.waiting,
                   " requests is not between 0 and ",
                   SchedulerLimits::maxWaiting);
  if (limits.queueTimeout.count() < 0 || limits.priorityStep.count() < 0)
    return failure("scheduler: a time is negative");
  if (limits.fairQuantum < 1 ||
      limits.fairQuantum > SchedulerLimits::maxFairQuantum)
    return failure("scheduler: a fair quantum of ", limits.fairQuantum,
                   " units of work is not between 1 and ",
                   SchedulerLimits::maxFairQuantum);
  return Scheduler(std::move(head), limits);
}

Scheduler::Scheduler(Head head, const SchedulerLimits &limits)
    : head(std::move(head)), limits(limits), fairness(limits.fairQuantum),
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
  return {.running = std::ssize(known) - waiting,
          .waiting = waiting - preemptedNow,
          .preempted = preemptedNow,
          .reserved = newcomersReserved};
}

std::optional<RequestNumber> Scheduler::requestIn(RequestId slot) const {
  const Known *request = inSlot[static_cast<size_t>(slot)];
  return request ? std::optional(request->number()) : std::nullopt;
}

/// Returns how many requests count for the queue's limit.
int64_t Scheduler::queued() const {
  return waiting - preemptedNow - newcomersReserved;
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
  if (!(wanted.terms.weight >= TenantTerms::minWeight) ||
      !(wanted.terms.weight <= TenantTerms::maxWeight) ||
      wanted.terms.maxRunning < 0)
    return {Refusal::Invalid, 0,
            "request: its tenant's terms are out of range"};
  const RequestNumber number = next++;
  Known &request = known[number];
  request.place = {wanted.spec.tenant,
                   {now + wanted.priority * limits.priorityStep, number}};
  request.promptTokens = std::ssize(wanted.spec.prompt);
  request.came = now;
  request.deadline = wanted.deadline;
  if (limits.queueTimeout.count() > 0)
    request.startsUntil = now + limits.queueTimeout;
  fairness.add(request.place, wanted.terms);
  updateQueuePriorities(wanted.spec.tenant);
  const QueuePriority queuePriority = fairness.queuePriority(request.place);
  makeWayFor(queuePriority, now);
  join(request, std::move(wanted.spec));
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

/// Starts the last request with a reserved slot if the newcomer is about to
/// take that slot and the queue has no place for that request.
void Scheduler::makeWayFor(const QueuePriority &newcomer, Time now) {
  if (reserved.empty() || freeSlots() > std::ssize(reserved) ||
      queued() < limits.waiting)
    return;
  Known &last = known.at(reserved.back());
  if (fairness.queuePriority(last.place) < newcomer)
    return;
  stopAwaiting(last);
  admitWaiting(now);
}

/// Makes the request start as soon as there is room, with the part of its
/// prefix that is pinned.
void Scheduler::stopAwaiting(Known &request) {
  request.waiting->mayAwait = false;
  request.waiting->awaits.reset();
  queueChanged(fairness.queuePriority(request.place));
}

/// Evicts from the queue the last request that has neither started nor a
/// reserved slot; there must be one. Returns whether that is the newcomer; the
/// end of another request is reported.
bool Scheduler::evictLast(RequestNumber newcomer, Time now) {
  std::optional<QueuePriority> last =
      fairness.lastWaiting([this](RequestNumber number) {
        return !known.at(number).started && !isReserved(number);
      });
  assert(last && "nobody waits for a first row");
  queueChanged(*last);
  if (last->number == newcomer) {
    forget(known.find(newcomer));
    return true;
  }
  reportEnd(last->number, FinishReason::Cancelled, now);
  reported.ends.back().refusal = Refusal::QueueFull;
  reported.ends.back().failure = Status::error(queueFull(limits));
  return false;
}

void Scheduler::finish(RequestNumber number, FinishReason reason, Time now) {
  auto found = known.find(number);
  if (found == known.end())
    return;
  Known &request = found->second;
  if (request.slot) {
    head.finish(*request.slot, reason, now);
  } else {
    newcomersReserved -= std::erase(reserved, number) > 0 && !request.started;
    queueChanged(fairness.queuePriority(request.place));
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

/// Runs after each event: takes the head's events, charges tenants, admits,
/// sets the wake-up.
void Scheduler::settle(Time now) {
  takeHeadEvents(now);
  chargeRunning();
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
    token.number = inSlot[token.request]->number();
    reported.tokens.push_back(std::move(token));
  }
  commands.tokens.clear();
  for (FinishEvent &finish : commands.finished) {
    Known &request = *inSlot[finish.request];
    request.speculation += head.counters(finish.request);
    stopRunning(request);
    reportEnd(request.number(), finish.reason, now);
    if (!finish.error.empty())
      reported.ends.back().failure = Status::error(std::move(finish.error));
  }
  commands.finished.clear();
  for (PreemptEvent &event : commands.preempted) {
    Known &request = *inSlot[event.request];
    request.speculation += event.counters;
    stopRunning(request);
    request.gaveWay = admitting && *admitting != request.place.tenant;
    fairness.setRunning(request.place, false);
    updateQueuePriorities(request.place.tenant);
    join(request, std::move(event.spec));
    ++preemptedNow;
    ++preemptionsSoFar;
  }
  commands.preempted.clear();
}

/// Puts a request into the queue.
void Scheduler::join(Known &request, RequestSpec spec) {
  request.waiting = Waiting{std::move(spec)};
  ++waiting;
}

/// Notes that a request has left its slot.
void Scheduler::stopRunning(Known &request) {
  chargeWork(request, /*atLeast=*/1);
  inSlot[*request.slot] = nullptr;
  request.slot.reset();
  std::erase(runs, request.queuePriority);
}

/// Removes a request that does not run.
void Scheduler::forget(
    std::unordered_map<RequestNumber, Known>::iterator request) {
  const FairQueueing::Place place = request->second.place;
  if (request->second.waiting) {
    --waiting;
    preemptedNow -= request->second.started.has_value();
  }
  known.erase(request);
  fairness.remove(place);
  updateQueuePriorities(place.tenant);
}

void Scheduler::reportEnd(RequestNumber number, FinishReason reason, Time now) {
  auto request = known.find(number);
  if (request->second.deadline)
    alarms.erase({*request->second.deadline, number});
  if (request->second.startsUntil)
    alarms.erase({*request->second.startsUntil, number});
  RequestEnd &event = reported.ends.emplace_back();
  event.number = number;
  event.slot = request->second.lastSlot;
  event.started = request->second.started.has_value();
  event.cachedTokens = request->second.cachedTokens;
  event.waited = request->second.started.value_or(now) - request->second.came;
  event.speculation = request->second.speculation;
  event.reason = reason;
  forget(request);
}

/// Starts the requests with a reserved slot whose time in the queue is over.
void Scheduler::startReserved(Time now) {
  for (auto at = alarms.begin(); at != alarms.end() && at->first <= now; ++at) {
    Known &request = known.at(at->second);
    if (request.startsUntil && *request.startsUntil <= now &&
        (!request.deadline || *request.deadline > now) &&
        isReserved(at->second))
      stopAwaiting(request);
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
// Fair shares
//===----------------------------------------------------------------------===//

/// Returns the work that the first `positions` rows of a request are.
static int64_t workOf(int64_t positions, int64_t promptTokens) {
  return positions + std::max<int64_t>(0, positions - promptTokens);
}

/// Charges the tenant of a running request for the rows that have left since it
/// was charged last, if these are `atLeast` so many.
void Scheduler::chargeWork(Known &request, int64_t atLeast) {
  const int64_t sent = head.positionsSent(*request.slot);
  if (sent - request.charged < atLeast)
    return;
  const int64_t work = workOf(sent, request.promptTokens) -
                       workOf(request.charged, request.promptTokens);
  const bool stayed = request.charged < request.staysUntil;
  request.charged = sent;
  const bool stays = sent < request.staysUntil;
  if (fairness.charge(request.place.tenant, work) || stayed != stays)
    updateQueuePriorities(request.place.tenant);
}

void Scheduler::chargeRunning() {
  // Looking up the tenants of all requests at each step would take time.
  constexpr int64_t rowsAtOnce = 16;
  for (Known *request : inSlot)
    if (request)
      chargeWork(*request, rowsAtOnce);
}

/// Returns the queue priority of a running request whose fair one is `fair`.
QueuePriority Scheduler::priorityOfRunning(const Known &request,
                                           const QueuePriority &fair) const {
  return request.charged < request.staysUntil
             ? QueuePriority{Time::min(), fair.number}
             : fair;
}

/// Updates the queue priorities of a tenant's running requests. Those of
/// waiting requests are computed when they are needed.
void Scheduler::updateQueuePriorities(TenantNumber tenant) {
  bool anyChanged = false;
  fairness.visitRunning(tenant, [&](const QueuePriority &fair) {
    Known &request = known.at(fair.number);
    const QueuePriority queuePriority = priorityOfRunning(request, fair);
    if (request.queuePriority == queuePriority)
      return;
    request.queuePriority = queuePriority;
    head.setQueuePriority(*request.slot, queuePriority);
    anyChanged = true;
  });
  if (!anyChanged)
    return;
  // The order of one tenant's requests is the same as before.
  hasChanged |= fairness.activeTenants() > 1;
  runs.clear();
  for (const Known *request : inSlot)
    if (request)
      runs.push_back(request->queuePriority);
  std::ranges::sort(runs);
}

} // namespace sluice
