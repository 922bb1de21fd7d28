//===- SimulationRun.cpp - builds, runs and checks the actors of a run ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the actors of a configuration, joins them by links, runs them, and
// checks what must hold for any run.
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/Expectation.h"
#include "runtime/sim/FrameHop.h"
#include "runtime/sim/Simulation.h"
#include "runtime/sim/StageActors.h"
#include "runtime/sim/WireSize.h"

#include <algorithm>
#include <utility>

using namespace sluice;
using namespace sluice::sim;

namespace {

/// A cancel under way.
struct SentMark {
  EpochMark mark;
  Time decided{0};
  std::optional<uint64_t> number; ///< none if it may be overtaken
};

class Run final : public EventTarget {
public:
  explicit Run(const SimulationConfig &config)
      : config(config), ranks(config.ranks()),
        stageCount(static_cast<int64_t>(config.stages.size())),
        world(config.faults, config.faultSeed, config.trace),
        target(config.seed, config.vocabulary, config.outputs),
        oracle(config.seed, config.vocabulary, config.acceptance,
               config.confidence),
        turns(config.head.requests, stageCount),
        cancelOrder(static_cast<size_t>(ranks)) {}

  Status build();
  Status play();
  /// To be called after play(): checks the run and returns its results.
  Expected<SimulationResult> finish();

  /// Handles the death of a rank, or that the head notices it.
  void onEvent(uint64_t what) override;

private:
  enum RankEvent : uint64_t { Dies, IsMissed, rankEvents };

  bool hasDraft() const { return config.placement != SimPlacement::None; }
  LinkTimes timesOf(int64_t from, int64_t to) const {
    return from == to ? LinkTimes{} : config.links[from * ranks + to];
  }
  WorkerSetup setupOf(int64_t stage) const;
  Status buildStages();
  Status buildDraft();
  Status buildHead();
  void buildHop(int64_t stage);
  void buildResults();
  void buildCancels();
  void buildErrors();
  void scheduleCrashes();
  void nameLanes();
  void cancel(const EpochMark &mark);
  void see(const SentMark &sent, int64_t rank);
  void giveUp(int64_t rank, const Status &reason);

  Status checkBreaks() const;
  Status checkHoldings() const;
  Status checkWorker(const Worker &worker, const std::string &name) const;
  StageOutcome outcomeOf(const Worker &worker, std::string role) const;
  void countHops(SimulationResult &result) const;

  const SimulationConfig &config;
  const int64_t ranks;
  const int64_t stageCount;
  World world;
  OracleTarget target;
  OracleDraft oracle;
  std::vector<std::unique_ptr<Rank>> rankOf;
  std::vector<std::unique_ptr<SimStage>> stages;
  std::unique_ptr<SimDraft> draft;
  std::unique_ptr<SimHead> head;
  RowTurns turns;
  std::vector<ArrivalOrder> cancelOrder; ///< one for each receiving rank
  /// frames[s] carries frames to stage s, from the head or from stage s - 1.
  std::vector<std::unique_ptr<FrameHop<StepFrame>>> frames;
  std::unique_ptr<FrameHop<ResultFrame>> results;
  std::vector<std::unique_ptr<SimLink<SentMark>>> cancels; ///< one to each rank
  std::vector<std::unique_ptr<SimLink<Status>>> errors; ///< one from each rank
};

} // namespace

static Status checkModel(const StepModel &model, const char *what) {
  if (model.byRows.empty())
    return failure("simulation: ", what, " has no step times");
  for (const std::vector<Time> *table : {&model.byRows, &model.byOutputs})
    for (Time time : *table)
      if (time < Time(0))
        return failure("simulation: ", what, " has a negative step time");
  return {};
}

Status Run::build() {
  if (config.stages.empty())
    return failure("simulation: no stages");
  for (const StepModel &model : config.stages)
    SLUICE_RETURN_IF_ERROR(checkModel(model, "a stage"));
  if (hasDraft())
    SLUICE_RETURN_IF_ERROR(checkModel(config.draftModel, "the draft"));
  if (static_cast<int64_t>(config.links.size()) != ranks * ranks)
    return failure("simulation: ", config.links.size(), " links for ", ranks,
                   " ranks");
  if (config.vocabulary < 2)
    return failure("simulation: a vocabulary of ", config.vocabulary);
  for (int64_t rank = 0; rank < ranks; ++rank)
    rankOf.push_back(std::make_unique<Rank>(config.head.requests));
  SLUICE_RETURN_IF_ERROR(buildStages());
  SLUICE_RETURN_IF_ERROR(buildDraft());
  buildCancels();
  buildErrors();
  scheduleCrashes();
  nameLanes();
  return buildHead();
}

WorkerSetup Run::setupOf(int64_t stage) const {
  bool isDraft = stage < 0;
  WorkerSetup setup;
  setup.rank = static_cast<int32_t>(isDraft ? 0 : config.rankOfStage(stage));
  setup.track = isDraft ? trace::Track::Draft : trace::Track::Stage;
  setup.limits = isDraft ? config.draftLimits : config.stageLimits;
  setup.limits.requests = config.head.requests;
  setup.pages = isDraft ? config.draftPages : config.stagePages;
  if (setup.pages == 0)
    setup.pages =
        setup.limits.branches * CachePages::pagesFor(config.head.contextLength);
  setup.limits.contextLength =
      std::min(config.head.contextLength, setup.pages * CachePages::pageTokens);
  setup.checkCache = config.checkCaches;
  setup.limits.keepTokens =
      isDraft || stage + 1 == stageCount || config.checkCaches;
  setup.model = isDraft ? config.draftModel : config.stages[stage];
  setup.wakeUp = config.wakeUp;
  return setup;
}

/// Builds the hop to the stage from the head or the stage before.
void Run::buildHop(int64_t stage) {
  int64_t here = config.rankOfStage(stage);
  int64_t before = stage == 0 ? 0 : config.rankOfStage(stage - 1);
  auto take = [this, stage](StepFrame frame) {
    if (Status s = turns.arrive(stage, frame); config.checkTurns && !s.ok())
      return world.fail(s.withContext("stage " + std::to_string(stage)));
    stages[stage]->arrive(std::move(frame));
  };
  auto missed = [this, here](const Status &reason) { giveUp(here, reason); };
  frames.push_back(std::make_unique<FrameHop<StepFrame>>(
      world, timesOf(before, here), FrameHop<StepFrame>::Ends{before, here},
      config.checkOrder, FrameHop<StepFrame>::Receiver{take, missed}));
}

/// Builds the hop from the last stage to the head.
void Run::buildResults() {
  int64_t last = config.rankOfStage(stageCount - 1);
  auto take = [this](ResultFrame frame) {
    if (Status s = turns.answer(frame); config.checkTurns && !s.ok())
      return world.fail(s.withContext("the head"));
    head->onResults(std::move(frame));
  };
  auto missed = [this](const Status &reason) {
    head->onFailure(reason.withContext("rank 0: results"));
  };
  results = std::make_unique<FrameHop<ResultFrame>>(
      world, timesOf(last, 0), FrameHop<ResultFrame>::Ends{last, 0},
      config.checkOrder, FrameHop<ResultFrame>::Receiver{take, missed});
}

Status Run::buildStages() {
  buildResults();
  for (int64_t s = 0; s < stageCount; ++s) {
    int64_t here = config.rankOfStage(s);
    buildHop(s);
    auto forward = [this, s](StepFrame frame) {
      auto rows = static_cast<int64_t>(frame.rows.size());
      int64_t bytes = wireBytes(frame, config.rowBytes);
      frames[s + 1]->send(std::move(frame), bytes, rows);
    };
    auto answer = [this](ResultFrame frame) {
      auto rows = static_cast<int64_t>(frame.results.size());
      int64_t bytes = wireBytes(frame);
      results->send(std::move(frame), bytes, rows);
    };
    Expected<std::unique_ptr<SimStage>> made =
        s + 1 < stageCount
            ? SimStage::create(world, *rankOf[here], setupOf(s), forward)
            : SimStage::create(world, *rankOf[here], setupOf(s), target,
                               answer);
    if (!made)
      return made.status();
    stages.push_back(made.take());
  }
  return {};
}

Status Run::buildDraft() {
  if (!hasDraft())
    return {};
  Expected<std::unique_ptr<SimDraft>> made = SimDraft::create(
      world, *rankOf[0], setupOf(-1), target, oracle, config.speculation.width,
      [this](GuessFrame frame) { head->onGuesses(std::move(frame)); });
  if (!made)
    return made.status();
  draft = made.take();
  return {};
}

void Run::buildCancels() {
  for (int64_t rank = 0; rank < ranks; ++rank)
    cancels.push_back(std::make_unique<SimLink<SentMark>>(
        world.queue, timesOf(0, rank), /*keepsOrder=*/false,
        [this, rank](const SentMark &sent) { see(sent, rank); }));
}

/// Handles a cancel that arrives at a rank. Cancels that no fault delays keep
/// their order.
void Run::see(const SentMark &sent, int64_t rank) {
  if (config.checkOrder && sent.number)
    if (Status s = cancelOrder[rank].arrive(*sent.number); !s.ok())
      return world.fail(
          s.withContext("cancels to rank " + std::to_string(rank)));
  world.note(trace::Kind::CancelSeen, static_cast<int32_t>(rank),
             trace::Track::Stage,
             {sent.mark.request, sent.mark.epoch, sent.mark.confirmed});
  rankOf[rank]->publish(sent.mark, sent.decided);
}

void Run::cancel(const EpochMark &mark) {
  Time now = world.queue.now();
  int64_t bytes = wireBytes(mark);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Faults::Copies copies = world.faults.cancelCopies();
    for (int copy = 0; copy < copies.count; ++copy) {
      SentMark sent{mark, now, {}};
      if (copies.delays[copy] == Time(0))
        sent.number = cancelOrder[rank].send();
      Time arrives = cancels[rank]->send(sent, bytes, copies.delays[copy],
                                         copies.overtake);
      if (rank != 0)
        world.span(trace::Kind::Control, 0, trace::Track::Head, now, arrives,
                   {rank, bytes, mark.request});
    }
  }
}

//===----------------------------------------------------------------------===//
// Faults that a run does not survive
//===----------------------------------------------------------------------===//

void Run::buildErrors() {
  for (int64_t rank = 0; rank < ranks; ++rank)
    errors.push_back(std::make_unique<SimLink<Status>>(
        world.queue, timesOf(rank, 0), /*keepsOrder=*/true,
        [this](const Status &reason) { head->onFailure(reason); }));
}

/// Ends a rank as a failing rank does: it tells the head and stops.
void Run::giveUp(int64_t rank, const Status &reason) {
  if (std::exchange(rankOf[rank]->isDead, true))
    return;
  Status reported =
      reason.withContext("rank " + std::to_string(rank) + ": steps");
  errors[rank]->send(reported, std::ssize(reported.message()), Time(0));
}

/// Schedules the deaths of ranks; rank 0 with the head does not die. The head
/// notices a death later, by missing heartbeats.
void Run::scheduleCrashes() {
  for (int64_t rank = 1; rank < ranks; ++rank) {
    std::optional<Time> at = world.faults.crash();
    if (!at)
      continue;
    uint64_t event = static_cast<uint64_t>(rank) * rankEvents;
    world.queue.schedule(*at, *this, event + Dies);
    world.queue.schedule(*at + config.silence, *this, event + IsMissed);
  }
}

void Run::onEvent(uint64_t what) {
  uint64_t rank = what / rankEvents;
  if (what % rankEvents == IsMissed)
    return head->onFailure(failure("rank ", rank, " does not answer"));
  rankOf[rank]->isDead = true;
  ++world.breaks.crashed;
}

Status Run::buildHead() {
  HeadLimits limits = config.head;
  limits.hasDraft = hasDraft();
  limits.stages = stageCount;
  Expected<Head> made =
      Head::create(limits, config.speculation, predictedTimes(config),
                   config.trace && config.policyNotes);
  if (!made)
    return made.status();
  Expected<Scheduler> scheduler =
      Scheduler::create(made.take(), config.scheduler);
  if (!scheduler)
    return scheduler.status();
  SimHead::Outputs outputs;
  outputs.launch = [this](StepFrame frame) {
    auto rows = static_cast<int64_t>(frame.rows.size());
    int64_t bytes = wireBytes(frame, 0);
    if (Status s = turns.launch(frame); config.checkTurns && !s.ok())
      return world.fail(s.withContext("the head"));
    frames[0]->send(std::move(frame), bytes, rows);
  };
  outputs.draft = [this](StepFrame frame) { draft->arrive(std::move(frame)); };
  outputs.cancel = [this](const EpochMark &mark) { cancel(mark); };
  SimHead::Checks checks;
  if (config.checkDeadlines)
    checks.deadlines.emplace(config.scheduler.queueTimeout);
  if (config.checkShares)
    checks.shares.emplace(FairShares::Limits{
        .slots = limits.requests,
        .prefillRows = limits.prefillRows,
        .quantum = config.scheduler.fairQuantum,
        // Pages that are shared stay in the cache, except the last one.
        .rowsLost = limits.sharesPrefixes ? CachePages::pageTokens
                                          : limits.contextLength});
  head = std::make_unique<SimHead>(world, scheduler.take(), config.headDecision,
                                   std::move(outputs), std::move(checks));
  head->play(config.requests);
  return {};
}

void Run::nameLanes() {
  if (!world.trace)
    return;
  std::vector<std::string> roles(static_cast<size_t>(ranks));
  roles[0] = hasDraft() ? "head, draft" : "head";
  for (int64_t s = 0; s < stageCount; ++s) {
    std::string &role = roles[config.rankOfStage(s)];
    role += (role.empty() ? "stage " : ", stage ") + std::to_string(s);
  }
  for (int64_t rank = 0; rank < ranks; ++rank)
    world.trace->nameRank(static_cast<int32_t>(rank),
                          "rank " + std::to_string(rank) + ": " + roles[rank]);
}

Status Run::play() {
  while (world.failure.ok() && world.queue.runNext())
    if (world.queue.happened() > config.maxEvents)
      return failure("simulation: still going on after ", config.maxEvents,
                     " events");
  return world.failure;
}

/// Checks that the head noticed the faults that a run does not survive, and no
/// other ones.
Status Run::checkBreaks() const {
  const Breaks &breaks = world.breaks;
  if (head->broken().ok() && breaks.any())
    return failure("nobody has noticed that ", breaks.lost,
                   " messages were lost, ", breaks.repeated, " came twice and ",
                   breaks.crashed, " ranks died");
  if (!head->broken().ok() && !breaks.any())
    return head->broken();
  return {};
}

Status Run::checkWorker(const Worker &worker, const std::string &name) const {
  Stage::Holdings held = worker.core().holdings();
  held.pinned = 0; // kept for later requests
  if (held == Stage::Holdings{})
    return {};
  return failure(name, " holds ", held.requests, " requests, ", held.branches,
                 " branches, ", held.pages, " pages, ", held.frames,
                 " frames at the end");
}

/// Invariant 4 of the design: what has ended holds nothing.
Status Run::checkHoldings() const {
  Head::Holdings held = head->core().rows().holdings();
  Scheduler::Load load = head->core().load();
  if (!(held == Head::Holdings{}) || !(load == Scheduler::Load{}))
    return failure("the head holds ", held.requests, " requests, ", held.nodes,
                   " nodes, ", held.pages, " pages at the end; ", load.waiting,
                   " requests wait, ", load.preempted, " are preempted");
  for (int64_t s = 0; s < stageCount; ++s)
    SLUICE_RETURN_IF_ERROR(
        checkWorker(*stages[s], "stage " + std::to_string(s)));
  return draft ? checkWorker(*draft, "the draft") : Status();
}

StageOutcome Run::outcomeOf(const Worker &worker, std::string role) const {
  StageOutcome outcome;
  outcome.rank = worker.rankNumber();
  outcome.role = std::move(role);
  outcome.work = worker.counters();
  outcome.core = worker.core().counters();
  outcome.cancelLatency = summarize(outcome.work.cancelLatencies);
  return outcome;
}

void Run::countHops(SimulationResult &result) const {
  auto hop = [&](int64_t from, int64_t to) -> HopOutcome & {
    for (HopOutcome &known : result.hops)
      if (known.from == from && known.to == to)
        return known;
    HopOutcome added;
    added.from = static_cast<int32_t>(from);
    added.to = static_cast<int32_t>(to);
    result.hops.push_back(added);
    return result.hops.back();
  };
  auto add = [&](int64_t from, int64_t to, LinkCounters HopOutcome::*lane,
                 const LinkCounters &counted) {
    if (from == to || counted.messages == 0)
      return;
    (hop(from, to).*lane).messages += counted.messages;
    (hop(from, to).*lane).bytes += counted.bytes;
  };
  for (int64_t s = 0; s < stageCount; ++s)
    add(s == 0 ? 0 : config.rankOfStage(s - 1), config.rankOfStage(s),
        &HopOutcome::data, frames[s]->counters());
  add(config.rankOfStage(stageCount - 1), 0, &HopOutcome::data,
      results->counters());
  for (int64_t rank = 0; rank < ranks; ++rank)
    add(0, rank, &HopOutcome::control, cancels[rank]->counters());
}

Expected<SimulationResult> Run::finish() {
  SimulationResult result;
  result.requests = head->takeOutcomes();
  Expectation expected{target, head->core().rows().limits().contextLength,
                       !head->broken().ok()};
  for (size_t i = 0; i < result.requests.size(); ++i)
    if (Status s = expected.check(config.requests[i], result.requests[i]);
        !s.ok())
      return s.withContext("request " + std::to_string(i));
  SLUICE_RETURN_IF_ERROR(checkBreaks());
  if (head->broken().ok())
    SLUICE_RETURN_IF_ERROR(checkHoldings());
  result.broken = head->broken();
  result.breaks = world.breaks;
  if (draft)
    result.workers.push_back(outcomeOf(*draft, "draft"));
  for (int64_t s = 0; s < stageCount; ++s)
    result.workers.push_back(
        outcomeOf(*stages[s], "stage " + std::to_string(s)));
  countHops(result);
  result.speculation = head->core().rows().totals();
  result.preemptions = head->core().preemptions();
  result.prefixWaits = head->core().prefixWaits();
  result.foundTokens = head->core().rows().ledger().foundTokens();
  result.shortChunks = head->shortChunks();
  result.worstShare = head->worstShare();
  result.end = world.queue.now();
  result.events = world.queue.happened();
  return result;
}

Expected<SimulationResult> sim::simulate(const SimulationConfig &config) {
  Run run(config);
  SLUICE_RETURN_IF_ERROR(run.build());
  SLUICE_RETURN_IF_ERROR(run.play());
  return run.finish();
}
