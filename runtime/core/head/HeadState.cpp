//===- HeadState.cpp - verifies, ends and preempts requests ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/head/HeadState.h"

#include <algorithm>
#include <cassert>

namespace sluice {

Head::State::State(const HeadLimits &limits, const SpeculationOptions &options,
                   PipelineTimes times, bool wantsNotes)
    : limits(limits), options(options), policy(options, times),
      requests(this->limits, this->options), pages(this->limits, requests),
      frames(this->limits, commands, pages.ledger()),
      slots(this->limits, requests, policy),
      certain(this->limits, policy, requests, frames, slots, commands),
      prompts(this->limits, times.slowest, requests, pages, frames, slots,
              certain, commands),
      draft(this->limits, this->options, policy, requests, commands),
      guesses(this->limits, this->options, policy, requests, frames, slots,
              commands, wantsNotes),
      batches(this->options, draft, requests, frames, slots),
      probe(this->limits, frames, commands) {}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

HeadRequest *Head::State::admit(RequestSpec &spec, int64_t claimedPages) {
  HeadRequest *request = requests.findFree();
  if (!request || !pages.open(*request, spec, claimedPages))
    return nullptr;
  requests.noteBegun();
  prompts.add(*request);
  return request;
}

/// Counts guesses in flight that have died.
void Head::State::noteDeaths(HeadRequest &request, int64_t died) {
  if (died == 0)
    return;
  requests.count(request, &SpeculationCounters::cancelled, died);
  rowsDied = true;
  ++request.epoch;
  requests.count(request, &SpeculationCounters::epochs);
}

/// Takes a request out of its slot, frees what the head holds for it, and tells
/// stages and draft to close it.
void Head::State::release(HeadRequest &request) {
  rowsDied |= request.rootInFlight();
  noteDeaths(request, request.tree.launched());
  if (request.openAtStages) {
    if (options.cancel)
      commands.cancels.push_back({.request = request.id,
                                  .epoch = request.epoch,
                                  .confirmed = request.nextNode - 1,
                                  .ended = true});
    frames.launch().closes.push_back(request.id);
  }
  request.closeOwed |= request.openAtDraft;
  request.active = false;
  request.cancelDue = false;
  certain.remove(request);
  prompts.remove(request);
  requests.noteReleased(request);
  request.tree.clear();
  pages.close(request);
}

void Head::State::finish(HeadRequest &request, FinishReason reason,
                         std::string error) {
  release(request);
  commands.finished.push_back({request.id, reason, std::move(error)});
}

/// Takes a request out of the stages; it can be submitted again.
void Head::State::preempt(HeadRequest &request) {
  RequestSpec spec = std::move(request.spec);
  size_t prompt = spec.prompt.size();
  spec.generated.clear();
  for (size_t at = prompt; at < request.path.size(); ++at)
    spec.generated.push_back(request.path[at].token);
  release(request);
  commands.preempted.push_back({request.id, std::move(spec), request.counters});
}

/// Provides a page for the last token of the request's path; if necessary it
/// preempts the running requests with the last queue priorities. Returns false
/// if that was this request itself.
bool Head::State::makeRoomFor(HeadRequest &request) {
  while (!pages.grow(request)) {
    HeadRequest *last = requests.lastInQueueOrder();
    preempt(*last);
    if (last == &request)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void Head::State::takeResults(const ResultFrame &frame, Time now) {
  policy.measureStages(frame.timings);
  prompts.measure(frame);
  frames.noteGone(frame.launched);
  pages.pinChunks(frames.gone());
  if (!frame.results.empty())
    probe.noteNews(now);
  std::span<const ResultRow> results = frame.results;
  for (size_t i = 0; i < results.size(); ++i) {
    prefetch(results.subspan(i));
    takeResult(results[i], frame.isLate(), now);
  }
}

/// Prefetches what later results need while the first one is handled, because
/// the requests do not fit the nearest cache: first a request's slot in the
/// table, then what the slot points to.
void Head::State::prefetch(std::span<const ResultRow> results) const {
  constexpr size_t toSlot = 8, toContents = 4, lineBytes = 64;
  auto slotOf = [&](size_t index) -> const HeadRequest * {
    return index < results.size() ? requests.find(results[index].request)
                                  : nullptr;
  };
  auto fetch = [](const void *from, const void *to) {
    for (auto *at = static_cast<const char *>(from); at < to; at += lineBytes)
      __builtin_prefetch(at, /*write=*/1);
  };
  if (const HeadRequest *request = slotOf(toSlot))
    fetch(&request->spec.maxTokens, request + 1);
  if (const HeadRequest *request = slotOf(toContents);
      request && request->active) {
    const PathEntry *last = &request->path.back();
    const GuessNode *root = request->tree.nodes().data();
    fetch(last, last + 1);
    fetch(root, root + 1);
  }
}

void Head::State::takeResult(const ResultRow &result, bool isLate, Time now) {
  HeadRequest *slot = requests.find(result.request);
  if (!slot || slot->path.empty())
    return; // the slot has had no request yet
  HeadRequest &request = *slot;
  if (result.node < request.firstNode) {
    // The result belongs to an earlier request of the slot. Only for the last
    // of these can guesses be told from certain rows.
    if (result.node > request.lastPathEnd)
      requests.countComputedDead();
    return;
  }
  if (request.active && request.rootInFlight() &&
      request.tree.root().node == result.node) {
    if (options.mode == SpeculationMode::Sync)
      request.outstanding = std::max<int64_t>(0, request.outstanding - 1);
    request.travelsAlone = request.travelsAlone && !isLate;
    verify(request, result, now);
    return;
  }
  if (result.node < request.firstNode + request.knownRows - 1)
    return score(request, result);
  // The user has ended the request. Its last confirmed row is not a guess.
  if (result.node == request.path.back().node)
    return;
  assert((!request.active || request.tree.find(result.node) < 0) &&
         "a guess was answered before its parent");
  requests.count(request, &SpeculationCounters::computedDead);
  if (options.mode == SpeculationMode::Sync)
    request.outstanding = std::max<int64_t>(0, request.outstanding - 1);
}

/// Takes the last stage's report on a token of the prompt.
void Head::State::score(HeadRequest &request, const ResultRow &result) {
  if (!request.active)
    return;
  if (!result.error.empty())
    return finish(request, FinishReason::Error, result.error);
  commands.tokens.push_back({request.id, result.token, result.report, true});
  request.spec.scored = result.node - request.firstNode + 2;
  if (request.isDone())
    finish(request, FinishReason::Length);
}

/// Learns from the root's true successor how good the draft's candidates were.
void Head::State::learn(const HeadRequest &request, int32_t token) {
  const GuessTree &tree = request.tree;
  if (tree.root().expansion != Expansion::Done)
    return;
  const GuessNode *best = nullptr, *right = nullptr;
  for (const GuessNode &each : tree.nodes()) {
    if (each.parentIndex != 0)
      continue;
    policy.calibration().observe(each.confidence, each.token == token);
    if (!best || each.pathChance > best->pathChance)
      best = &each;
    if (each.token == token)
      right = &each;
  }
  if (best)
    policy.observeLevel(right && (right->launched || right == best));
}

/// Takes the result of the root.
void Head::State::verify(HeadRequest &request, const ResultRow &result,
                         Time now) {
  if (!result.error.empty())
    return finish(request, FinishReason::Error, result.error);
  if (request.travelsAlone && result.node == request.lastCertain)
    policy.measureRoundTrip(now - request.launchedAt);
  learn(request, result.token);
  int32_t position = request.tree.root().position;
  pages.pin(request, int64_t{position} + 1, result.node);
  const std::vector<int32_t> &stops = request.spec.stopTokens;
  if (std::ranges::find(stops, result.token) != stops.end())
    return finish(request, FinishReason::Stop);
  commands.tokens.push_back({request.id, result.token, result.report});
  ++request.emitted;
  bool full = position + 1 >= limits.contextLength;
  if (full || request.emitted == request.spec.maxTokens)
    return finish(request, FinishReason::Length);
  confirm(request, result.token);
}

/// Makes the row of `token`, which follows the root, the new root: the guess
/// with that token, or else a new certain row.
void Head::State::confirm(HeadRequest &request, int32_t token) {
  GuessTree &tree = request.tree;
  GuessNode before = tree.root();
  bool draftedAll =
      request.drafted == static_cast<int64_t>(request.path.size());
  GuessTree::Confirmation outcome = tree.confirm(token);
  if (!outcome.found)
    tree.reset(noNode, before.node, before.position + 1, token);
  request.number(tree.root());
  request.path.emplace_back(tree.root().node, token);
  requests.noteConfirmed();
  if (draftedAll && tree.root().expansion == Expansion::Done)
    ++request.drafted;
  if (outcome.launched)
    requests.count(request, &SpeculationCounters::accepted);
  noteDeaths(request, outcome.died);
  if (outcome.died > 0)
    request.cancelDue = options.mode == SpeculationMode::Async;
  request.levels = 0;
  if (policy.probe(std::exchange(request.guessSent, false)))
    request.probeDue = true;
  if (!makeRoomFor(request))
    return;
  if (!outcome.launched && options.mode != SpeculationMode::Sync)
    certain.add(request);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Cancels the rows that have died in flight, and frees their places in the
/// slots.
void Head::State::sendCancels(Time now) {
  if (!std::exchange(rowsDied, false) || !options.cancel)
    return;
  for (HeadRequest &request : requests)
    if (std::exchange(request.cancelDue, false))
      commands.cancels.push_back(request.mark());
  slots.countAfterDeaths(now);
}

/// Launches certain rows, and rows of prompts beside them.
void Head::State::launchCertain(Time now) {
  StepFrame *frame = certain.launch(now);
  const bool startsSlot = frame && !slots.opens();
  frame = prompts.launch(frame, now);
  if (frame)
    slots.giveSlot(*frame, /*hasPrompt=*/false, now);
  certain.wakeForRest(startsSlot);
}

/// Turns what is due into commands. Dead rows are accounted for before anything
/// is launched, and launches come before the draft is asked for more.
void Head::State::pump(Time now) {
  commands.wake.reset();
  slots.advance(now);
  sendCancels(now);
  launchCertain(now);
  if (options.mode == SpeculationMode::Async)
    guesses.launch(now);
  if (options.mode == SpeculationMode::Sync)
    batches.launch(now);
  if (options.mode != SpeculationMode::Off)
    draft.ask();
  const bool expectsAnswers =
      requests.active() > 0 || frames.sent() != frames.gone();
  probe.check(expectsAnswers, now);
}

} // namespace sluice
