//===- Scheduler.cpp - which requests run, and which wait -----------------===//
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
  constexpr int64_t most = 1 << 24;
  if (limits.waiting < 0 || limits.waiting > most)
    return failure("scheduler: a queue of ", limits.waiting,
                   " requests is not between 0 and ", most);
  if (limits.queueTimeout.count() < 0 || limits.priorityStep.count() < 0)
    return failure("scheduler: a time is negative");
  return Scheduler(std::move(head), limits);
}

Scheduler::Scheduler(Head head, const SchedulerLimits &limits)
    : head(std::move(head)), limits(limits),
      inSlot(static_cast<size_t>(this->head.limits().requests)) {}

void Scheduler::clear() {
  told.tokens.clear();
  told.ends.clear();
  std::optional<Time> wake = commands().wake;
  commands().clear();
  commands().wake = wake;
}

Scheduler::Load Scheduler::load() const {
  return {.running = std::ssize(known) - std::ssize(waiting),
          .waiting = std::ssize(waiting) - pausedNow,
          .paused = pausedNow};
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

Submission Scheduler::submit(ScheduledRequest wanted, Time now) {
  constexpr int32_t mostPriority = 1000;
  if (wanted.priority < -mostPriority || wanted.priority > mostPriority)
    return {Refusal::Invalid, 0,
            "request: priority " + std::to_string(wanted.priority) +
                " is not between -1000 and 1000"};
  if (Status s = head.check(wanted.spec); !s.ok())
    return {Refusal::Invalid, 0, s.message()};
  RequestNumber number = next++;
  Time turn = now + wanted.priority * limits.priorityStep;
  wanted.spec.turn = turn;
  Known &request = known[number];
  request.turn = turn;
  request.came = now;
  request.deadline = wanted.deadline;
  if (limits.queueTimeout.count() > 0)
    request.startsUntil = now + limits.queueTimeout;
  waiting.emplace(Order{turn, number}, Waiting{std::move(wanted.spec)});
  queueChanged({turn, number});
  admitWaiting(now);
  if (waiting.contains({turn, number})) {
    if (load().waiting > limits.waiting) {
      std::string why = "request: " + std::to_string(limits.waiting) +
                        " requests wait already";
      RequestNumber last = lastNewcomer();
      Order place = {known.at(last).turn, last};
      waiting.erase(place);
      queueChanged(place);
      if (last == number) {
        known.erase(number);
        settle(now);
        return {Refusal::QueueFull, 0, std::move(why)};
      }
      tellEnd(last, FinishReason::Cancelled, now);
      told.ends.back().refusal = Refusal::QueueFull;
      told.ends.back().error = std::move(why);
    }
    if (request.startsUntil)
      alarms.emplace(*request.startsUntil, number);
  }
  if (known.contains(number) && wanted.deadline)
    alarms.emplace(*wanted.deadline, number);
  settle(now);
  return {Refusal::None, number, {}};
}

/// The last in order of those that wait and have not started; there is one.
RequestNumber Scheduler::lastNewcomer() const {
  auto last = std::find_if(waiting.rbegin(), waiting.rend(), [&](auto &each) {
    return !known.at(each.first.number).started;
  });
  assert(last != waiting.rend() && "nobody waits for a first row");
  return last->first.number;
}

void Scheduler::finish(RequestNumber number, FinishReason reason, Time now) {
  auto found = known.find(number);
  if (found == known.end())
    return;
  if (found->second.slot) {
    head.finish(*found->second.slot, reason, now);
  } else {
    pausedNow -= found->second.started.has_value();
    waiting.erase({found->second.turn, number});
    queueChanged({found->second.turn, number});
    tellEnd(number, reason, now);
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

/// After each event.
void Scheduler::settle(Time now) {
  takeHeadEvents(now);
  admitWaiting(now);
  if (!alarms.empty()) {
    std::optional<Time> &wake = commands().wake;
    Time first = alarms.begin()->first;
    wake = wake ? std::min(*wake, first) : first;
  }
}

/// What the head says of slots becomes what users hear of their requests.
void Scheduler::takeHeadEvents(Time now) {
  HeadCommands &commands = head.commands();
  for (TokenEvent &token : commands.tokens) {
    told.tokens.emplace_back(inSlot[token.request], token.request, token.token,
                             std::move(token.report));
  }
  commands.tokens.clear();
  for (FinishEvent &finish : commands.finished) {
    tellEnd(inSlot[finish.request], finish.reason, now);
    told.ends.back().error = std::move(finish.error);
    told.ends.back().speculation = head.counters(finish.request);
  }
  commands.finished.clear();
  for (PauseEvent &pause : commands.paused) {
    RequestNumber number = inSlot[pause.request];
    Known &request = known.at(number);
    request.slot.reset();
    waiting.emplace(Order{request.turn, number},
                    Waiting{std::move(pause.spec)});
    ++pausedNow;
    ++pausesSoFar;
  }
  commands.paused.clear();
}

void Scheduler::tellEnd(RequestNumber number, FinishReason reason, Time now) {
  auto request = known.find(number);
  if (request->second.deadline)
    alarms.erase({*request->second.deadline, number});
  if (request->second.startsUntil)
    alarms.erase({*request->second.startsUntil, number});
  UserEnd &event = told.ends.emplace_back();
  event.number = number;
  event.slot = request->second.lastSlot;
  event.started = request->second.started.has_value();
  event.cachedTokens = request->second.cachedTokens;
  event.waited = request->second.started.value_or(now) - request->second.came;
  known.erase(request);
  event.reason = reason;
}

/// Ends what has had its time.
void Scheduler::endAlarms(Time now) {
  while (!alarms.empty() && alarms.begin()->first <= now)
    finish(alarms.begin()->second, FinishReason::Timeout, now);
}

//===----------------------------------------------------------------------===//
// Admission
//===----------------------------------------------------------------------===//

/// A request has come to this place in the queue, or has gone from it.
void Scheduler::queueChanged(Order at) { hasChanged |= !stuck || at <= *stuck; }

/// In order, where something has changed: a queue can be long, and looking for
/// what is kept of a long prompt takes its time.
void Scheduler::admitWaiting(Time now) {
  if (!std::exchange(hasChanged, false) && chancesSeen == head.chances())
    return;
  stuck.reset();
  HeadClaims claims;
  for (auto at = waiting.begin(); at != waiting.end();) {
    if (waitsForPrefix(at->second)) {
      ++claims.slots;
      // And one for who is admitted instead to grow into.
      claims.pages += at->second.awaits->rest + 1;
      ++at;
    } else if (auto slot = admit(*at, claims, now)) {
      at = run(at, *slot, now);
      takeHeadEvents(now);
    } else {
      stuck = at->first;
      break;
    }
  }
  chancesSeen = head.chances();
}

bool Scheduler::waitsForPrefix(Waiting &request) {
  if (request.awaits && head.await(*request.awaits))
    return true;
  request.awaits.reset();
  if (load().waiting <= limits.waiting)
    request.awaits = head.comingPrefix(request.spec);
  bool waits = request.awaits && head.await(*request.awaits);
  prefixWaitsSoFar += waits;
  return waits;
}

/// Into a slot, if need be of one whose turn is later; none: there is no room.
std::optional<RequestId> Scheduler::admit(Queue::value_type &first,
                                          const HeadClaims &claims, Time now) {
  auto &[order, request] = first;
  while (true) {
    Expected<std::optional<RequestId>> slot =
        head.submit(request.spec, now, claims);
    // It was checked when it came; what a pause adds fits as well.
    assert(slot && "a request that waits can run");
    if (!slot || *slot)
      return slot ? *slot : std::nullopt;
    if (!head.pauseLast(order.turn, now))
      return std::nullopt;
    takeHeadEvents(now);
  }
}

/// The request that waited has a slot now; the one behind it.
Scheduler::Queue::iterator Scheduler::run(Queue::iterator first, RequestId slot,
                                          Time now) {
  RequestNumber number = first->first.number;
  Known &request = known.at(number);
  request.slot = request.lastSlot = slot;
  if (auto until = std::exchange(request.startsUntil, std::nullopt))
    alarms.erase({*until, number});
  inSlot[slot] = number;
  if (request.started) {
    --pausedNow;
  } else {
    request.started = now;
    request.cachedTokens =
        head.ledger().prefixPages(slot) * CachePages::pageTokens;
  }
  return waiting.erase(first);
}

} // namespace sluice
