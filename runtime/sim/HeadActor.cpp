//===- HeadActor.cpp - the head, and its users ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/HeadActor.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::sim;

SimHead::SimHead(World &world, Head head, Time decision, int64_t slots,
                 Outputs outputs)
    : world(world), head(std::move(head)), decision(decision), slots(slots),
      outputs(std::move(outputs)), inSlot(static_cast<size_t>(slots)) {}

void SimHead::play(std::vector<SimRequest> all) {
  requests = std::move(all);
  outcomes.resize(requests.size());
  slotOf.resize(requests.size());
  // Two events for each request: its arrival, and its user's change of mind.
  for (size_t i = 0; i < requests.size(); ++i) {
    world.queue.schedule(requests[i].arrives, *this, firstTimed + 2 * i);
    if (requests[i].cancelled)
      world.queue.schedule(*requests[i].cancelled, *this,
                           firstTimed + 2 * i + 1);
  }
}

void SimHead::push(Event event) {
  inbox.push_back(std::move(event));
  longestInbox = std::max(longestInbox, static_cast<int64_t>(inbox.size()));
  freeAt = std::max(world.queue.now(), freeAt) + decision;
  world.queue.schedule(freeAt, *this, process);
}

void SimHead::onResults(ResultFrame frame) { push(std::move(frame)); }
void SimHead::onGuesses(GuessFrame frame) { push(std::move(frame)); }

void SimHead::onEvent(uint64_t what) {
  if (what == wake)
    return push(Wake{});
  if (what >= firstTimed) {
    size_t request = (what - firstTimed) / 2;
    if (what % 2 == firstTimed % 2)
      return push(Arrival{request});
    return push(UserCancel{request});
  }
  Event event = std::move(inbox.front());
  inbox.pop_front();
  std::visit([this](const auto &each) { handle(each); }, event);
  runCommands();
  admitWaiting();
}

void SimHead::handle(const ResultFrame &frame) {
  head.onResults(frame, world.queue.now());
}
void SimHead::handle(const GuessFrame &frame) {
  head.onGuesses(frame, world.queue.now());
}
void SimHead::handle(const Wake &) {
  wakeAt.reset();
  head.onWake(world.queue.now());
}

void SimHead::handle(const Arrival &arrival) {
  outcomes[arrival.request].submitted = requests[arrival.request].arrives;
  waiting.push_back(arrival.request);
}

void SimHead::handle(const UserCancel &cancel) {
  // One that waits still has its turn: a server would drop it at once, but then
  // this would test the server.
  std::optional<RequestId> slot = slotOf[cancel.request];
  if (slot && inSlot[*slot] == cancel.request)
    head.finish(*slot, FinishReason::Cancelled, world.queue.now());
}

void SimHead::admitWaiting() {
  while (!waiting.empty() && head.holdings().requests < slots) {
    size_t request = waiting.front();
    waiting.pop_front();
    Expected<RequestId> slot =
        head.submit(requests[request].spec, world.queue.now());
    if (!slot)
      return world.fail(slot.status());
    slotOf[request] = *slot;
    inSlot[*slot] = request;
    runCommands();
  }
}

static std::pair<int64_t, int64_t> firstAndCertain(const StepFrame &frame) {
  int64_t certain = 0;
  for (const Row &row : frame.rows)
    certain += row.certain;
  return {frame.rows.empty() ? -1 : frame.rows.front().node, certain};
}

void SimHead::runCommands() {
  HeadCommands &commands = head.commands();
  Time now = world.queue.now();
  auto note = [&](trace::Kind kind, std::initializer_list<int64_t> values) {
    world.note(kind, 0, trace::Lane::Head, values);
  };
  for (const EpochMark &mark : commands.cancels) {
    note(trace::Kind::Cancel, {mark.request, mark.epoch, mark.confirmed});
    outputs.cancel(mark);
  }
  auto sendAll = [&](std::vector<StepFrame> &frames, trace::Kind kind,
                     const std::function<void(StepFrame)> &send) {
    for (StepFrame &frame : frames) {
      auto [first, certain] = firstAndCertain(frame);
      note(kind, {frame.rows.empty() ? -1 : frame.rows.front().request,
                  static_cast<int64_t>(frame.rows.size()), certain, first});
      send(std::move(frame));
    }
  };
  sendAll(commands.launches, trace::Kind::Launch, outputs.launch);
  sendAll(commands.drafts, trace::Kind::DraftAsked, outputs.draft);
  for (const TokenEvent &event : commands.tokens) {
    RequestOutcome &outcome = outcomes[*inSlot[event.request]];
    if (outcome.tokens.empty())
      outcome.firstToken = now;
    outcome.lastToken = now;
    outcome.tokens.push_back(event.token);
    note(trace::Kind::Token, {event.request, event.token});
  }
  for (const FinishEvent &event : commands.finished) {
    RequestOutcome &outcome = outcomes[*inSlot[event.request]];
    ++outcome.finishes;
    outcome.reason = event.reason;
    note(trace::Kind::Finish,
         {event.request, static_cast<int64_t>(event.reason)});
  }
  if (world.trace) {
    for (const PolicyNote &policy : commands.notes)
      world.policy(policy);
    note(trace::Kind::Alive, {head.holdings().nodes});
  }
  if (commands.wake && (!wakeAt || *commands.wake < *wakeAt)) {
    wakeAt = std::max(*commands.wake, now);
    world.queue.schedule(*wakeAt, *this, wake);
  }
  commands.clear();
}
