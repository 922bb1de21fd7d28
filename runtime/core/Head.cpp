//===- Head.cpp - launches, verifies and ends requests --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/Head.h"

#include "runtime/core/head/HeadState.h"

namespace sluice {

Head::Head(std::unique_ptr<State> state) : state(std::move(state)) {}
Head::Head(Head &&) = default;
Head &Head::operator=(Head &&) = default;
Head::~Head() = default;

Expected<Head> Head::create(const HeadLimits &limits,
                            const SpeculationOptions &options,
                            PipelineTimes times, bool wantsNotes) {
  SLUICE_RETURN_IF_ERROR(limits.validate(options));
  return Head(
      std::make_unique<State>(limits.settled(), options, times, wantsNotes));
}

Status Head::check(const RequestSpec &spec) const {
  return spec.validate(state->limits);
}

std::optional<ComingPrefix> Head::comingPrefix(const RequestSpec &spec) {
  return state->pages.comingPrefix(spec);
}

bool Head::await(const ComingPrefix &prefix) {
  return state->pages.await(prefix);
}

ComingPrefix Head::inherit(RequestId heir, const ComingPrefix &gone) const {
  ComingPrefix prefix = gone;
  prefix.from = heir;
  prefix.firstNode = state->requests[heir].firstNode;
  return prefix;
}

Expected<std::optional<RequestId>> Head::submit(RequestSpec &spec, Time now,
                                                const HeadClaims &claims) {
  SLUICE_RETURN_IF_ERROR(check(spec));
  if (state->limits.requests - state->requests.active() <= claims.slots)
    return std::optional<RequestId>();
  HeadRequest *request = state->admit(spec, claims.pages);
  if (!request)
    return std::optional<RequestId>();
  if (request->isDone())
    state->finish(*request, FinishReason::Length);
  state->pump(now);
  return std::optional<RequestId>(request->id);
}

uint64_t Head::chances() const { return state->pages.chances(); }

int64_t Head::positionsSent(RequestId id) const {
  const HeadRequest &request = state->requests[id];
  return request.inPrompt() ? request.knownSent : std::ssize(request.path);
}

void Head::setQueuePriority(RequestId id, const QueuePriority &queuePriority) {
  state->prompts.setQueuePriority(state->requests[id], queuePriority);
}

bool Head::fitsWithout(const QueuePriority &queuePriority,
                       const RequestSpec &spec, const HeadClaims &claims) {
  return state->pages.fitsWithout(queuePriority, spec, claims);
}

bool Head::preemptLast(const QueuePriority &queuePriority, Time now) {
  HeadRequest *last = state->requests.lastInQueueOrder();
  if (!last || last->spec.queuePriority <= queuePriority)
    return false;
  state->preempt(*last);
  state->pump(now);
  return true;
}

void Head::finish(RequestId id, FinishReason reason, Time now) {
  HeadRequest *request = state->requests.find(id);
  if (!request || !request->active)
    return;
  state->finish(*request, reason);
  state->pump(now);
}

void Head::onResults(const ResultFrame &frame, Time now) {
  state->takeResults(frame, now);
  state->pump(now);
}

void Head::onGuesses(const GuessFrame &frame, Time now) {
  if (state->draft.takeAnswer(frame))
    state->pump(now);
}

void Head::onWake(Time now) { state->pump(now); }

HeadCommands &Head::commands() { return state->commands; }

const HeadLimits &Head::limits() const { return state->limits; }

const SpeculationCounters &Head::counters(RequestId request) const {
  return state->requests[request].counters;
}

const SpeculationCounters &Head::totals() const {
  return state->requests.totals();
}

const SpeculationPolicy &Head::policy() const { return state->policy; }

const PageLedger &Head::ledger() const { return state->pages.ledger(); }

Head::Holdings Head::holdings() const {
  Holdings all;
  for (const HeadRequest &request : state->requests) {
    all.requests += request.active;
    all.nodes += static_cast<int64_t>(request.tree.nodes().size());
  }
  all.pages = ledger().pages() - ledger().available();
  return all;
}

} // namespace sluice
