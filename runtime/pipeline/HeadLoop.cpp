//===- HeadLoop.cpp - the head's thread -----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/HeadLoop.h"

#include "runtime/base/Guarded.h"
#include "runtime/base/TimerSlack.h"

using namespace sluice;
using namespace sluice::pipeline;

HeadLoop::HeadLoop(Head head, HeadLinks &links)
    : head(std::move(head)), links(links) {}

void HeadLoop::submit(RequestSpec spec, TokenQueue &queue) {
  door.push(Submit{std::move(spec), &queue});
}

void HeadLoop::finish(TokenQueue &queue, FinishReason reason) {
  door.push(Finish{&queue, reason});
}

void HeadLoop::run() {
  // It wakes at the openings of slots.
  waitPrecisely();
  bool open = true;
  while (open)
    orFail([&] { handleEvents(open); });
}

/// An exception on the way leaves the head as it happens to be: nothing goes on
/// after it.
template <typename Fn> void HeadLoop::orFail(Fn &&body) {
  Status done = guarded([&] {
    body();
    return Status();
  });
  if (!done.ok())
    fail(done.withContext("head"));
}

/// Waits for events and handles them; clears `open` where no more will come.
void HeadLoop::handleEvents(bool &open) {
  events.clear();
  std::optional<Time> wake = head.commands().wake;
  open =
      wake ? door.takeUntil(events, *wake) : door.take(events, /*wait=*/true);
  if (!open)
    return;
  // Each for itself: what one of them breaks, the requests behind it are told.
  if (wake && now() >= *wake && failed.ok())
    orFail([&] {
      head.onWake(now());
      carryOut();
    });
  for (Event &event : events)
    orFail([&] { handle(event); });
}

void HeadLoop::handle(Event &event) {
  if (auto *failure = std::get_if<Status>(&event))
    return fail(*failure);
  if (auto *submit = std::get_if<Submit>(&event))
    return handleSubmit(*submit);
  if (!failed.ok())
    return;
  if (auto *results = std::get_if<ResultFrame>(&event))
    head.onResults(*results, now());
  else if (auto *guesses = std::get_if<GuessFrame>(&event))
    head.onGuesses(*guesses, now());
  else if (auto *end = std::get_if<Finish>(&event))
    for (auto [request, queue] : queues)
      if (queue == end->queue)
        head.finish(request, end->reason, now());
  carryOut();
}

static void pushFailure(TokenQueue &queue, Status failure) {
  TokenItem item;
  item.kind = TokenItem::Kind::Failed;
  item.failure = std::move(failure);
  item.at = now();
  queue.push(std::move(item));
}

void HeadLoop::handleSubmit(Submit &submit) {
  if (!failed.ok())
    return pushFailure(*submit.queue, failed);
  admitting = submit.queue;
  Expected<RequestId> request = head.submit(std::move(submit.spec), now());
  if (request)
    queues[*request] = admitting;
  else
    pushFailure(*admitting, request.status());
  admitting = nullptr;
  carryOut();
}

/// Ends every request; nothing is sent any more.
void HeadLoop::fail(const Status &failure) {
  if (!failed.ok())
    return;
  failed = failure;
  if (admitting)
    pushFailure(*std::exchange(admitting, nullptr), failure);
  for (auto [request, queue] : queues)
    pushFailure(*queue, failure);
  queues.clear();
  head.commands().clear();
}

void HeadLoop::carryOut() {
  HeadCommands &commands = head.commands();
  Time at = now();
  Status sent = sendCommands(commands, at);
  deliver(commands, at);
  std::optional<Time> wake = commands.wake;
  commands.clear();
  commands.wake = wake;
  if (!sent.ok())
    fail(sent);
}

Status HeadLoop::sendCommands(HeadCommands &commands, Time at) {
  for (const EpochMark &mark : commands.cancels)
    if (Status s = links.cancel(mark, at); !s.ok())
      return s;
  for (const StepFrame &frame : commands.launches)
    if (Status s = links.launch(frame); !s.ok())
      return s;
  for (StepFrame &frame : commands.drafts)
    if (Status s = links.draft(std::move(frame)); !s.ok())
      return s;
  for (const PolicyNote &note : commands.notes)
    links.note(note, at);
  return {};
}

/// Gives users their tokens and ends.
void HeadLoop::deliver(HeadCommands &commands, Time at) {
  for (TokenEvent &event : commands.tokens) {
    TokenItem item;
    item.at = at;
    TokenQueue *queue = queues.at(event.request);
    links.told(event, at);
    item.token = std::move(event);
    queue->push(std::move(item));
  }
  for (const FinishEvent &event : commands.finished) {
    links.told(event, at);
    TokenItem item;
    item.kind = TokenItem::Kind::Finished;
    item.reason = event.reason;
    if (!event.error.empty())
      item.failure = Status::error(event.error);
    item.at = at;
    queues.at(event.request)->push(std::move(item));
    queues.erase(event.request);
  }
}
