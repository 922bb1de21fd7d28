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
  if (std::abs(wanted.priority) > mostPriority)
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
  waiting.emplace(Order{turn, number}, std::move(wanted.spec));
  admitWaiting(now);
  if (waiting.contains({turn, number})) {
    if (load().waiting > limits.waiting) {
      waiting.erase({turn, number});
      known.erase(number);
      settle(now);
      return {Refusal::QueueFull, 0,
              "request: " + std::to_string(limits.waiting) +
                  " requests wait already"};
    }
    if (request.startsUntil)
      alarms.emplace(*request.startsUntil, number);
  }
  if (known.contains(number) && wanted.deadline)
    alarms.emplace(*wanted.deadline, number);
  settle(now);
  return {Refusal::None, number, {}};
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
    waiting.emplace(Order{request.turn, number}, std::move(pause.spec));
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

void Scheduler::admitWaiting(Time now) {
  while (!waiting.empty()) {
    auto first = waiting.begin();
    Expected<std::optional<RequestId>> slot = head.submit(first->second, now);
    if (!slot) {
      // It was checked when it came; what a pause adds fits as well.
      assert(false && "a request that waits can run");
      return;
    }
    if (*slot)
      run(first, **slot, now);
    else if (!head.pauseLast(first->first.turn, now))
      return;
    takeHeadEvents(now);
  }
}

/// The request that waited has a slot now.
void Scheduler::run(std::map<Order, RequestSpec>::iterator first,
                    RequestId slot, Time now) {
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
  waiting.erase(first);
}

} // namespace sluice
