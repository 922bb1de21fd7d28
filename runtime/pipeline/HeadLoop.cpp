//===- HeadLoop.cpp - the head's thread -----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/HeadLoop.h"

#include "runtime/base/Guarded.h"
#include "runtime/base/Insist.h"
#include "runtime/base/TimerSlack.h"

using namespace sluice;
using namespace sluice::pipeline;

HeadLoop::HeadLoop(Scheduler scheduler, HeadLinks &links)
    : scheduler(std::move(scheduler)), links(links) {}

void HeadLoop::submit(ScheduledRequest request,
                      std::shared_ptr<TokenSink> sink) {
  mailbox.push(Submit{std::move(request), std::move(sink)});
}

void HeadLoop::finish(const TokenSink &sink, FinishReason reason) {
  mailbox.push(Finish{&sink, reason});
}

Status HeadLoop::broken() const {
  std::lock_guard lock(mutex);
  return reportedFailure;
}

HeadStatus HeadLoop::status() const {
  std::lock_guard lock(mutex);
  return current;
}

template <typename Fn> void HeadLoop::note(Fn &&change) {
  std::lock_guard lock(mutex);
  change(current);
}

void HeadLoop::run() {
  // The thread wakes when slots open.
  waitPrecisely();
  bool open = true;
  while (open)
    orFail([&] {
      std::optional<Time> wake = nextWake();
      open = takeEvents(wake);
      if (open)
        handleEvents(wake);
    });
}

void HeadLoop::poll() {
  orFail([&] {
    events.clear();
    mailbox.take(events, /*wait=*/false);
    handleEvents(nextWake());
  });
}

/// Runs `body`. An exception can leave the head in any state, so it ends the
/// pipeline.
template <typename Fn> void HeadLoop::orFail(Fn &&body) {
  Status done = guarded([&] {
    body();
    return Status();
  });
  if (!done.ok())
    fail(done.withContext("head"));
}

/// Returns when the scheduler wants to be woken; never after a failure.
std::optional<Time> HeadLoop::nextWake() {
  return failed.ok() ? scheduler.commands().wake : std::nullopt;
}

/// Waits for events, or for the time `wake`. Returns false once no more events
/// will come.
bool HeadLoop::takeEvents(std::optional<Time> wake) {
  events.clear();
  return wake ? mailbox.takeUntil(events, *wake)
              : mailbox.take(events, /*wait=*/true);
}

/// Handles the events that have been taken, and the wake-up if it is due. Each
/// is handled by itself: if one breaks the pipeline, the requests after it are
/// told.
void HeadLoop::handleEvents(std::optional<Time> wake) {
  if (wake && now() >= *wake)
    orFail([&] {
      scheduler.onWake(now());
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
  if (auto *results = std::get_if<ResultFrame>(&event)) {
    note([&](HeadStatus &status) {
      if (!results->isLate())
        status.noteStep(results->timings);
      status.noteAnswers(results->results);
    });
    scheduler.onResults(*results, now());
  } else if (auto *guesses = std::get_if<GuessFrame>(&event)) {
    note([&](HeadStatus &status) { status.noteDraft(guesses->timing); });
    scheduler.onGuesses(*guesses, now());
  } else if (auto *end = std::get_if<Finish>(&event)) {
    if (auto found = numbers.find(end->sink); found != numbers.end())
      scheduler.finish(found->second, end->reason, now());
  }
  carryOut();
}

/// Returns the end of a request that was refused, or failed with the pipeline.
/// Insists on memory, because a client waits for this end.
static RequestEnd endOf(const Status &failure, Refusal refusal) {
  RequestEnd end;
  end.refusal = refusal;
  end.isBroken = refusal == Refusal::None;
  insist([&] { end.failure = failure; });
  end.at = now();
  return end;
}

void HeadLoop::handleSubmit(Submit &submit) {
  if (!failed.ok())
    return submit.sink->push(endOf(failed, Refusal::None));
  admitting = std::move(submit.sink);
  Submission taken = scheduler.submit(std::move(submit.request), now());
  if (taken.refusal == Refusal::None) {
    numbers[admitting.get()] = taken.number;
    sinks[taken.number] = std::move(admitting);
  } else {
    std::exchange(admitting, nullptr)
        ->push(endOf(Status::error(taken.why), taken.refusal));
  }
  carryOut();
}

/// Ends every request. No command is sent after that.
void HeadLoop::fail(const Status &failure) {
  if (!failed.ok())
    return;
  Status own, reported;
  insist([&] {
    own = failure;
    reported = failure;
  });
  failed = std::move(own);
  {
    std::lock_guard lock(mutex);
    reportedFailure = std::move(reported);
  }
  if (admitting)
    std::exchange(admitting, nullptr)->push(endOf(failure, Refusal::None));
  for (auto &[number, sink] : sinks)
    sink->push(endOf(failure, Refusal::None));
  sinks.clear();
  numbers.clear();
  scheduler.clear();
}

void HeadLoop::carryOut() {
  HeadCommands &commands = scheduler.commands();
  Time at = now();
  updateStatus(commands);
  Status sent = sendCommands(commands, at);
  deliver(at);
  scheduler.clear();
  if (!sent.ok())
    fail(sent);
}

Status HeadLoop::sendCommands(HeadCommands &commands, Time at) {
  for (const EpochMark &mark : commands.cancels)
    SLUICE_RETURN_IF_ERROR(links.cancel(mark, at));
  for (StepFrame &frame : commands.launches)
    SLUICE_RETURN_IF_ERROR(links.launch(frame));
  for (StepFrame &frame : commands.drafts)
    SLUICE_RETURN_IF_ERROR(links.draft(std::move(frame)));
  for (const PolicyNote &note : commands.notes)
    links.note(note, at);
  return {};
}

/// Delivers tokens and ends to the sinks.
void HeadLoop::deliver(Time at) {
  for (TokenEvent &token : scheduler.events().tokens) {
    if (!token.ofPrompt)
      links.reported(token, at);
    token.at = at;
    sinks.at(token.number)->push(std::move(token));
  }
  for (RequestEnd &end : scheduler.events().ends) {
    links.reported(end, at);
    end.at = at;
    auto found = sinks.find(end.number);
    std::shared_ptr<TokenSink> sink = std::move(found->second);
    numbers.erase(sink.get());
    sinks.erase(found);
    sink->push(std::move(end));
  }
}

//===----------------------------------------------------------------------===//
// Status
//===----------------------------------------------------------------------===//

void HeadLoop::updateStatus(HeadCommands &commands) {
  std::lock_guard lock(mutex);
  for (const StepFrame &frame : commands.launches)
    current.noteLaunch(frame);
  Scheduler::Load load = scheduler.load();
  current.running = load.running;
  current.waiting = load.waiting;
  current.preempted = load.preempted;
  current.preemptions = scheduler.preemptions();
  const PageLedger &ledger = scheduler.rows().ledger();
  current.pages = ledger.pages();
  current.pagesUsed = ledger.pages() - ledger.available();
  current.pagesPinned = ledger.pinned();
  current.prefixQueries = ledger.queriedTokens();
  current.prefixHits = ledger.foundTokens();
  current.speculation = scheduler.rows().totals();
}
