//===- HeadActor.cpp - the simulated head and its users -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/HeadActor.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::sim;

SimHead::SimHead(World &world, Scheduler scheduler, Time decision,
                 Outputs outputs, Checks checks)
    : world(world), scheduler(std::move(scheduler)), decision(decision),
      outputs(std::move(outputs)), checks(std::move(checks)) {}

void SimHead::play(std::vector<SimRequest> all) {
  requests = std::move(all);
  outcomes.resize(requests.size());
  numbers.resize(requests.size());
  // Two events for each request: its arrival, and its cancellation by the user.
  for (size_t i = 0; i < requests.size(); ++i) {
    world.queue.schedule(requests[i].arrives, *this, firstTimed + 2 * i);
    if (requests[i].cancelled)
      world.queue.schedule(*requests[i].cancelled, *this,
                           firstTimed + 2 * i + 1);
  }
}

void SimHead::push(Event event) {
  inbox.push_back({std::move(event), world.queue.now()});
  freeAt = std::max(world.queue.now(), freeAt) + decision;
  world.queue.schedule(freeAt, *this, process);
}

void SimHead::onResults(ResultFrame frame) { push(std::move(frame)); }
void SimHead::onGuesses(GuessFrame frame) { push(std::move(frame)); }
void SimHead::onFailure(Status reason) { push(std::move(reason)); }

void SimHead::onEvent(uint64_t what) {
  if (what == wake)
    return push(Wake{});
  if (what >= firstTimed) {
    size_t request = (what - firstTimed) / 2;
    if (what % 2 == firstTimed % 2)
      return push(Arrival{request});
    return push(UserCancel{request});
  }
  Waiting next = std::move(inbox.front());
  inbox.pop_front();
  if (!failed.ok())
    return refuse(next.event);
  if (checks.deadlines)
    if (Status s = checks.deadlines->takeUp(next.came); !s.ok())
      return world.fail(s.withContext("the head"));
  std::visit([this](const auto &each) { handle(each); }, next.event);
  runCommands();
}

void SimHead::handle(const ResultFrame &frame) {
  scheduler.onResults(frame, world.queue.now());
}
void SimHead::handle(const GuessFrame &frame) {
  scheduler.onGuesses(frame, world.queue.now());
}
void SimHead::handle(const Wake &) {
  wakeAt.reset();
  scheduler.onWake(world.queue.now());
}

void SimHead::handle(const Arrival &arrival) {
  SimRequest &request = requests[arrival.request];
  outcomes[arrival.request].submitted = request.arrives;
  std::optional<Time> deadline = request.asked.deadline;
  if (deadline && world.faults.deadlineIsForgotten())
    request.asked.deadline.reset();
  ScheduledRequest asked = request.asked;
  if (world.faults.tenantIsForgotten())
    asked.spec.tenant = 0;
  Submission taken = scheduler.submit(std::move(asked), world.queue.now());
  if (taken.refusal != Refusal::None)
    return world.fail(Status::error(taken.why));
  numbers[arrival.request] = taken.number;
  ofNumber[taken.number] = arrival.request;
  if (checks.deadlines)
    checks.deadlines->submit(taken.number, deadline, world.queue.now());
  if (checks.shares)
    checks.shares->submit(taken.number, request.asked);
}

void SimHead::handle(const UserCancel &cancel) {
  if (std::optional<RequestNumber> number = numbers[cancel.request])
    scheduler.finish(*number, FinishReason::Cancelled, world.queue.now());
}

/// Ends every request as an error. Nothing is sent after that.
void SimHead::handle(const Status &reason) {
  failed = reason;
  for (size_t i = 0; i < outcomes.size(); ++i)
    if (numbers[i] && outcomes[i].finishes == 0)
      endWithError(i);
  scheduler.clear();
}

/// Handles an event that comes after a failure.
void SimHead::refuse(const Event &event) {
  const auto *arrival = std::get_if<Arrival>(&event);
  if (!arrival)
    return;
  outcomes[arrival->request].submitted = requests[arrival->request].arrives;
  endWithError(arrival->request);
}

void SimHead::endWithError(size_t request) {
  ++outcomes[request].finishes;
  outcomes[request].reason = FinishReason::Error;
}

static std::pair<int64_t, int64_t> firstAndCertain(const StepFrame &frame) {
  int64_t certain = 0;
  for (const Row &row : frame.rows)
    certain += row.certain;
  return {frame.rows.empty() ? -1 : frame.rows.front().node, certain};
}

void SimHead::countChunk(const StepFrame &frame) {
  const HeadLimits &limits = scheduler.rows().limits();
  if (frame.rows.empty() || limits.interTokenLatency <= Time(0))
    return;
  int64_t silent =
      std::count_if(frame.rows.begin(), frame.rows.end(), [](const Row &row) {
        return row.certain && !row.wantsOutput;
      });
  // The last row of a prompt wants an output.
  const Row &last = frame.rows.back();
  bool goesOn = last.certain && !last.wantsOutput;
  chunksCutShort += goesOn && silent + limits.requests < limits.prefillRows;
}

void SimHead::runCommands() {
  HeadCommands &commands = scheduler.commands();
  Time now = world.queue.now();
  auto note = [&](trace::Kind kind, std::initializer_list<int64_t> values) {
    world.note(kind, 0, trace::Track::Head, values);
  };
  for (const EpochMark &mark : commands.cancels) {
    note(trace::Kind::Cancel, {mark.request, mark.epoch, mark.confirmed});
    outputs.cancel(mark);
  }
  auto sendAll = [&](FrameList &frames, trace::Kind kind,
                     const std::function<void(StepFrame)> &send) {
    for (StepFrame &frame : frames) {
      if (kind == trace::Kind::Launch)
        countChunk(frame);
      auto [first, certain] = firstAndCertain(frame);
      note(kind, {frame.rows.empty() ? -1 : frame.rows.front().request,
                  static_cast<int64_t>(frame.rows.size()), certain, first});
      send(std::move(frame));
    }
  };
  sendAll(commands.launches, trace::Kind::Launch, outputs.launch);
  sendAll(commands.drafts, trace::Kind::DraftAsked, outputs.draft);
  for (const TokenEvent &token : scheduler.events().tokens) {
    RequestOutcome &outcome = outcomes[ofNumber.at(token.number)];
    if (outcome.tokens.empty())
      outcome.firstToken = now;
    outcome.lastToken = now;
    outcome.tokens.push_back(token.token);
    if (checks.shares)
      checks.shares->token(token.number);
    note(trace::Kind::Token, {token.request, token.token});
  }
  for (const RequestEnd &end : scheduler.events().ends) {
    RequestOutcome &outcome = outcomes[ofNumber.at(end.number)];
    if (end.refusal != Refusal::None)
      return world.fail(end.failure);
    if (checks.deadlines)
      if (Status s = checks.deadlines->end(end, now); !s.ok())
        return world.fail(s.withContext("the head"));
    if (checks.shares)
      checks.shares->end(end.number);
    ++outcome.finishes;
    outcome.reason = end.reason;
    note(trace::Kind::Finish, {end.slot, static_cast<int64_t>(end.reason)});
  }
  if (checks.shares)
    if (Status s = checks.shares->check(scheduler); !s.ok())
      return world.fail(s.withContext("the head"));
  if (world.trace) {
    for (const PolicyNote &policy : commands.notes)
      world.policy(policy);
    note(trace::Kind::Alive, {scheduler.rows().holdings().nodes});
  }
  if (commands.wake && (!wakeAt || *commands.wake < *wakeAt)) {
    wakeAt = std::max(*commands.wake, now);
    world.queue.schedule(*wakeAt, *this, wake);
  }
  scheduler.clear();
}
