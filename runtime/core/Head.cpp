//===- Head.cpp - verifies and ends requests ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/Head.h"

#include "runtime/core/CachePages.h"
#include "runtime/core/HeadState.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace sluice {

namespace {

/// Room for the root, the guesses in flight and the guesses that wait. In Sync
/// mode all candidates of a level wait before the best ones are chosen.
int64_t treeCapacity(const SpeculationOptions &options) {
  if (options.mode == SpeculationMode::Off)
    return 1;
  return 1 + options.nodes +
         std::max(maxWaitingGuesses, options.width * options.width);
}

Status checkAtLeast(std::string_view name, int64_t value, int64_t min) {
  if (value < min)
    return failure("head: ", name, " is ", value, ", below ", min);
  return {};
}

Status checkLimits(const HeadLimits &limits,
                   const SpeculationOptions &options) {
  constexpr int64_t max = std::numeric_limits<int32_t>::max() / 4;
  struct Bound {
    std::string_view name;
    int64_t value, min, max;
  };
  for (const Bound &bound :
       {Bound{"requests", limits.requests, 1, max},
        Bound{"context length", limits.contextLength, 1, max},
        Bound{"prefill rows", limits.prefillRows, 1, max},
        Bound{"outputs", limits.outputs, 1, max},
        Bound{"stages", limits.stages, 1, 4096},
        Bound{"pages", limits.pages, 0, max},
        Bound{"frames in flight", limits.framesInFlight, 4, max},
        Bound{"speculation depth", options.depth, 1, 1024},
        Bound{"speculation width", options.width, 1, 64},
        Bound{"speculation nodes", options.nodes, 1, 4096},
        Bound{"draft rows", options.draftRows, 1, 64}}) {
    SLUICE_RETURN_IF_ERROR(checkAtLeast(bound.name, bound.value, bound.min));
    if (bound.value > bound.max)
      return failure("head: ", bound.name, " is ", bound.value, ", above ",
                     bound.max);
  }
  if (options.mode != SpeculationMode::Off && !limits.hasDraft)
    return failure("head: speculation needs a draft");
  if (options.mode == SpeculationMode::Sync && options.splitRows &&
      options.nodes + limits.requests > limits.framesInFlight)
    return failure("head: single rows of ", options.nodes,
                   " guesses do not fit ", limits.framesInFlight,
                   " frames in flight");
  return {};
}

} // namespace

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

Head::State::State(const HeadLimits &limits, const SpeculationOptions &options,
                   PipelineTimes times, bool wantsNotes)
    : limits(limits), options(options), policy(options, times),
      promptTimes(times.slowest), wantsNotes(wantsNotes),
      ledger({limits.pages, limits.requests, limits.sharesPrefixes}) {
  prefilling.reserve(static_cast<size_t>(limits.requests));
  certainDue.reserve(static_cast<size_t>(limits.requests));
  rowFrames.reserve(static_cast<size_t>(limits.framesInFlight));
  requests.reserve(static_cast<size_t>(limits.requests));
  for (int64_t i = 0; i < limits.requests; ++i)
    requests.emplace_back(treeCapacity(options));
  leaving.reserve(static_cast<size_t>(limits.requests));
  asked.reserve(static_cast<size_t>(limits.prefillRows + options.draftRows));
}

RequestId Head::State::idOf(const HeadRequest &request) const {
  return static_cast<RequestId>(&request - requests.data());
}

EpochMark Head::State::markOf(const HeadRequest &request) const {
  return {.request = idOf(request),
          .epoch = request.epoch,
          .confirmed = request.tree.root().node,
          .ended = false};
}

bool Head::State::canNumber(const HeadRequest &request,
                            const GuessNode &node) const {
  return node.node != noNode ||
         request.nextNode - request.tree.root().node < numberSpan(options);
}

void Head::State::number(HeadRequest &request, GuessNode &node) {
  if (node.node == noNode)
    node.node = request.nextNode++;
}

int64_t Head::State::depthLimit(const HeadRequest &request) const {
  int64_t position = request.tree.root().position;
  int64_t room = limits.contextLength - 1 - position;
  // The draft expands rows down to one level above the deepest guesses.
  if (limits.draftContextLength > 0)
    room = std::min(room, limits.draftContextLength - position);
  if (request.spec.maxTokens < 0)
    return room;
  // One token is the root's own result.
  return std::min(room, request.spec.maxTokens - request.emitted - 1);
}

/// Takes a request out of its slot, frees what the head holds for it, and tells
/// stages and draft to close it.
void Head::State::release(HeadRequest &request) {
  RequestId id = idOf(request);
  int64_t died = request.tree.launched();
  rowsDied |= died > 0 || request.rootInFlight();
  count(request, &SpeculationCounters::cancelled, died);
  if (died > 0) {
    ++request.epoch;
    count(request, &SpeculationCounters::epochs);
  }
  if (request.openAtStages) {
    if (options.cancel)
      commands.cancels.push_back({.request = id,
                                  .epoch = request.epoch,
                                  .confirmed = request.nextNode - 1,
                                  .ended = true});
    newFrame().closes.push_back(id);
  }
  if (request.openAtDraft)
    request.closeOwed = true;
  request.active = false;
  if (std::exchange(request.launchDue, false))
    std::erase(certainDue, id);
  request.cancelDue = false;
  if (!request.promptSent())
    std::erase(prefilling, id);
  if (request.promptSent()) {
    --generating;
    generatingAt -= std::ssize(request.path);
  }
  --active;
  request.tree.clear();
  ledger.close(id);
  ++chances;
}

void Head::State::finish(HeadRequest &request, FinishReason reason,
                         std::string error) {
  release(request);
  commands.finished.push_back({idOf(request), reason, std::move(error)});
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void Head::State::count(HeadRequest &request,
                        int64_t SpeculationCounters::*what, int64_t by) {
  request.counters.*what += by;
  totals.*what += by;
}

/// Returns the first frame with certain rows that is not among the head's first
/// `frames` frames.
std::vector<RowFrame>::iterator Head::State::firstUnder(uint64_t frames) {
  return std::ranges::find_if(rowFrames, [frames](const RowFrame &each) {
    return each.step >= frames;
  });
}

/// Measures how long the returning frames took, if each stage made one step of
/// exactly these frames.
void Head::State::measureSteps(const ResultFrame &frame) {
  if (frame.isLate())
    return;
  int64_t rows = 0, positions = 0;
  for (auto each = rowFrames.begin(); each != firstUnder(frame.launched);
       ++each) {
    rows += each->rows;
    positions += each->positions;
  }
  int64_t longest = 0;
  for (const StageTiming &timing : frame.timings) {
    if (timing.rows != rows || timing.departed > 0)
      return;
    longest = std::max(longest, timing.busyNanos);
  }
  promptTimes.measure(rows, positions, Time(longest));
}

/// Notes that the head's first `frames` frames have passed all stages.
void Head::State::noteGone(uint64_t frames) {
  framesGone = std::max(framesGone, frames);
  pinChunks();
  rowFrames.erase(rowFrames.begin(), firstUnder(framesGone));
}

/// Prefetches what later results need while the first one is handled, because
/// the requests do not fit the nearest cache: first a request's slot in the
/// table, then what the slot points to.
void Head::State::prefetch(std::span<const ResultRow> results) const {
  constexpr size_t toSlot = 8, toContents = 4, lineBytes = 64;
  auto slotOf = [&](size_t index) -> const HeadRequest * {
    if (index >= results.size())
      return nullptr;
    auto id = static_cast<size_t>(results[index].request);
    return id < requests.size() ? &requests[id] : nullptr;
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

void Head::State::handleResult(const ResultRow &result, bool isLate, Time now) {
  if (result.request < 0 ||
      result.request >= static_cast<RequestId>(requests.size()))
    return;
  HeadRequest &request = requests[static_cast<size_t>(result.request)];
  if (request.path.empty())
    return; // the slot has had no request yet
  if (result.node < request.firstNode) {
    // The result belongs to an earlier request of the slot. Only for the last
    // of these can guesses be told from certain rows.
    totals.computedDead += result.node > request.lastPathEnd;
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
  count(request, &SpeculationCounters::computedDead);
  if (options.mode == SpeculationMode::Sync)
    request.outstanding = std::max<int64_t>(0, request.outstanding - 1);
}

/// Takes the last stage's report on a token of the prompt.
void Head::State::score(HeadRequest &request, const ResultRow &result) {
  if (!request.active)
    return;
  if (!result.error.empty())
    return finish(request, FinishReason::Error, result.error);
  commands.tokens.push_back({idOf(request), result.token, result.report, true});
  request.spec.scored = result.node - request.firstNode + 2;
  if (request.isDone())
    finish(request, FinishReason::Length);
}

/// Learns from the root's true successor how good the draft's candidates were.
void Head::State::learn(HeadRequest &request, int32_t token) {
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
  pinPages(request, int64_t{position} + 1, result.node);
  const std::vector<int32_t> &stops = request.spec.stopTokens;
  if (std::find(stops.begin(), stops.end(), result.token) != stops.end()) {
    finish(request, FinishReason::Stop);
    return;
  }
  commands.tokens.push_back({idOf(request), result.token, result.report});
  ++request.emitted;
  bool full = position + 1 >= limits.contextLength;
  if (full || request.emitted == request.spec.maxTokens) {
    finish(request, FinishReason::Length);
    return;
  }
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
  number(request, tree.root());
  request.path.emplace_back(tree.root().node, token);
  ++generatingAt;
  if (draftedAll && tree.root().expansion == Expansion::Done)
    ++request.drafted;
  if (outcome.launched)
    count(request, &SpeculationCounters::accepted);
  count(request, &SpeculationCounters::cancelled, outcome.died);
  if (outcome.died > 0) {
    rowsDied = true;
    ++request.epoch;
    count(request, &SpeculationCounters::epochs);
    request.cancelDue = options.mode == SpeculationMode::Async;
  }
  request.levels = 0;
  if (policy.probe(std::exchange(request.guessSent, false)))
    request.probeDue = true;
  if (!makeRoomFor(request))
    return;
  if (!outcome.launched && options.mode != SpeculationMode::Sync) {
    request.launchDue = true;
    certainDue.push_back(idOf(request));
  }
}

void Head::State::wakeAt(std::optional<Time> time) {
  if (time && (!commands.wake || *time < *commands.wake))
    commands.wake = time;
}

/// Turns what is due into commands. Dead rows are accounted for before anything
/// is launched, and launches come before the draft is asked for more.
void Head::State::pump(Time now) {
  commands.wake.reset();
  clock.advance(now, policy);
  sendCancels(now);
  sendCertainAndPrompts(now);
  if (options.mode == SpeculationMode::Async)
    sendGuesses(now);
  if (options.mode == SpeculationMode::Sync)
    sendBatches(now);
  askDraft();
  followUp(now);
}

//===----------------------------------------------------------------------===//
// Head
//===----------------------------------------------------------------------===//

Head::Head(std::unique_ptr<State> state) : state(std::move(state)) {}
Head::Head(Head &&) = default;
Head &Head::operator=(Head &&) = default;
Head::~Head() = default;

Expected<Head> Head::create(const HeadLimits &limits,
                            const SpeculationOptions &options,
                            PipelineTimes times, bool wantsNotes) {
  SLUICE_RETURN_IF_ERROR(checkLimits(limits, options));
  HeadLimits settled = limits;
  int64_t longest = CachePages::pagesFor(limits.contextLength);
  if (limits.pages == 0)
    settled.pages = limits.requests * longest;
  // A request that is alone in the cache can use all its pages.
  settled.contextLength =
      std::min(limits.contextLength, settled.pages * CachePages::pageTokens);
  return Head(std::make_unique<State>(settled, options, times, wantsNotes));
}

Status Head::check(const RequestSpec &spec) const { return state->check(spec); }

Expected<std::optional<RequestId>> Head::submit(RequestSpec &spec, Time now,
                                                const HeadClaims &claims) {
  SLUICE_RETURN_IF_ERROR(state->check(spec));
  if (state->limits.requests - state->active <= claims.slots)
    return std::optional<RequestId>();
  auto free =
      std::find_if(state->requests.begin(), state->requests.end(),
                   [](const HeadRequest &each) { return !each.active; });
  if (!state->admit(*free, spec, claims.pages))
    return std::optional<RequestId>();
  if (free->isDone())
    state->finish(*free, FinishReason::Length);
  state->pump(now);
  return std::optional<RequestId>(state->idOf(*free));
}

ComingPrefix Head::inherit(RequestId heir, const ComingPrefix &gone) const {
  ComingPrefix prefix = gone;
  prefix.from = heir;
  prefix.firstNode = state->requests[static_cast<size_t>(heir)].firstNode;
  return prefix;
}

bool Head::fitsWithout(const QueuePriority &queuePriority,
                       const RequestSpec &spec, const HeadClaims &claims) {
  return state->fitsWithout(queuePriority, spec, claims);
}

bool Head::preemptLast(const QueuePriority &queuePriority, Time now) {
  HeadRequest *last = state->lastInQueueOrder();
  if (!last || last->spec.queuePriority <= queuePriority)
    return false;
  state->preempt(*last);
  state->pump(now);
  return true;
}

void Head::finish(RequestId id, FinishReason reason, Time now) {
  if (id < 0 || id >= static_cast<RequestId>(state->requests.size()))
    return;
  HeadRequest &request = state->requests[static_cast<size_t>(id)];
  if (!request.active)
    return;
  state->finish(request, reason);
  state->pump(now);
}

void Head::onResults(const ResultFrame &frame, Time now) {
  state->policy.measureStages(frame.timings);
  state->measureSteps(frame);
  state->noteGone(frame.launched);
  if (!frame.results.empty())
    state->noteNews(now);
  std::span<const ResultRow> results = frame.results;
  for (size_t i = 0; i < results.size(); ++i) {
    state->prefetch(results.subspan(i));
    state->handleResult(results[i], frame.isLate(), now);
  }
  state->pump(now);
}

void Head::onWake(Time now) { state->pump(now); }

HeadCommands &Head::commands() { return state->commands; }

const SpeculationCounters &Head::counters(RequestId request) const {
  return state->requests[static_cast<size_t>(request)].counters;
}

const SpeculationCounters &Head::totals() const { return state->totals; }

uint64_t Head::chances() const { return state->chances; }

const SpeculationPolicy &Head::policy() const { return state->policy; }

const HeadLimits &Head::limits() const { return state->limits; }

const PageLedger &Head::ledger() const { return state->ledger; }

Head::Holdings Head::holdings() const {
  Holdings all;
  for (const HeadRequest &request : state->requests) {
    all.requests += request.active;
    all.nodes += static_cast<int64_t>(request.tree.nodes().size());
  }
  all.pages = state->ledger.pages() - state->ledger.available();
  return all;
}

} // namespace sluice
