//===- SimulationRun.cpp - actors, joined and checked ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the actors of a configuration, joins them by links, runs, and checks
// what must hold of any run.
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/Simulation.h"
#include "runtime/sim/StageActors.h"
#include "runtime/sim/WireSize.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::sim;

namespace {

/// A cancel on its way.
struct SentMark {
  EpochMark mark;
  Time decided{0};
};

class Run {
public:
  explicit Run(const SimulationConfig &config)
      : config(config), ranks(config.ranks()),
        stageCount(static_cast<int64_t>(config.stages.size())),
        world(config.faults, config.faultSeed, config.trace),
        target(config.seed, config.vocabulary, config.outputs),
        oracle(config.seed, config.vocabulary, config.acceptance,
               config.confidence) {}

  Status build();
  Status play();
  /// After play(): checks, and what has come out.
  Expected<SimulationResult> finish();

private:
  bool hasDraft() const { return config.placement != SimPlacement::None; }
  LinkTimes timesOf(int64_t from, int64_t to) const {
    return from == to ? LinkTimes{} : config.links[from * ranks + to];
  }
  WorkerSetup setupOf(int64_t stage) const;
  Status buildStages();
  Status buildDraft();
  Status buildHead();
  void buildCancels();
  void nameLanes();
  template <typename Message>
  void send(Link<Message> &link, int64_t from, int64_t to, Message message,
            int64_t bytes, int64_t rows);
  void cancel(const EpochMark &mark);

  Status checkRequest(const SimRequest &request,
                      const RequestOutcome &outcome) const;
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
  /// frames[s]: to stage s, from the head or from stage s - 1.
  std::vector<std::unique_ptr<Link<StepFrame>>> frames;
  std::unique_ptr<Link<ResultFrame>> results;
  std::vector<std::unique_ptr<Link<SentMark>>> cancels; ///< one to each rank
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
    if (Status s = checkModel(model, "a stage"); !s.ok())
      return s;
  if (hasDraft())
    if (Status s = checkModel(config.draftModel, "the draft"); !s.ok())
      return s;
  if (static_cast<int64_t>(config.links.size()) != ranks * ranks)
    return failure("simulation: ", config.links.size(), " links for ", ranks,
                   " ranks");
  if (config.vocabulary < 2)
    return failure("simulation: a vocabulary of ", config.vocabulary);
  for (int64_t rank = 0; rank < ranks; ++rank)
    rankOf.push_back(std::make_unique<Rank>(config.head.requests));
  if (Status s = buildStages(); !s.ok())
    return s;
  if (Status s = buildDraft(); !s.ok())
    return s;
  buildCancels();
  nameLanes();
  return buildHead();
}

/// Sends, and shows it in the trace.
template <typename Message>
void Run::send(Link<Message> &link, int64_t from, int64_t to, Message message,
               int64_t bytes, int64_t rows) {
  Time arrives =
      link.send(std::move(message), bytes, world.faults.messageDelay());
  if (from != to)
    world.span(trace::Kind::Message, static_cast<int32_t>(from),
               trace::Lane::Stage, world.queue.now(), arrives,
               {to, bytes, rows});
}

WorkerSetup Run::setupOf(int64_t stage) const {
  bool isDraft = stage < 0;
  WorkerSetup setup;
  setup.rank = static_cast<int32_t>(isDraft ? 0 : config.rankOfStage(stage));
  setup.lane = isDraft ? trace::Lane::Draft : trace::Lane::Stage;
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

Status Run::buildStages() {
  int64_t lastRank = config.rankOfStage(stageCount - 1);
  results = std::make_unique<Link<ResultFrame>>(
      world.queue, timesOf(lastRank, 0), /*keepsOrder=*/true,
      [this](ResultFrame frame) { head->onResults(std::move(frame)); });
  for (int64_t s = 0; s < stageCount; ++s) {
    int64_t here = config.rankOfStage(s);
    int64_t before = s == 0 ? 0 : config.rankOfStage(s - 1);
    frames.push_back(std::make_unique<Link<StepFrame>>(
        world.queue, timesOf(before, here), /*keepsOrder=*/true,
        [this, s](StepFrame frame) { stages[s]->arrive(std::move(frame)); }));
    auto forward = [this, s, here](StepFrame frame) {
      auto rows = static_cast<int64_t>(frame.rows.size());
      int64_t bytes = wireBytes(frame, config.rowBytes);
      send(*frames[s + 1], here, config.rankOfStage(s + 1), std::move(frame),
           bytes, rows);
    };
    auto answer = [this, here](ResultFrame frame) {
      auto rows = static_cast<int64_t>(frame.results.size());
      int64_t bytes = wireBytes(frame);
      send(*results, here, 0, std::move(frame), bytes, rows);
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
    cancels.push_back(std::make_unique<Link<SentMark>>(
        world.queue, timesOf(0, rank), /*keepsOrder=*/false,
        [this, rank](const SentMark &sent) {
          world.note(trace::Kind::CancelSeen, static_cast<int32_t>(rank),
                     trace::Lane::Stage,
                     {sent.mark.request, sent.mark.epoch, sent.mark.confirmed});
          rankOf[rank]->publish(sent.mark, sent.decided);
        }));
}

void Run::cancel(const EpochMark &mark) {
  Time now = world.queue.now();
  int64_t bytes = wireBytes(mark);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Faults::Copies copies = world.faults.cancelCopies();
    for (int copy = 0; copy < copies.count; ++copy) {
      Time arrives =
          cancels[rank]->send({mark, now}, bytes, copies.delays[copy]);
      if (rank != 0)
        world.span(trace::Kind::Control, 0, trace::Lane::Head, now, arrives,
                   {rank, bytes, mark.request});
    }
  }
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
    send(*frames[0], 0, config.rankOfStage(0), std::move(frame), bytes, rows);
  };
  outputs.draft = [this](StepFrame frame) { draft->arrive(std::move(frame)); };
  outputs.cancel = [this](const EpochMark &mark) { cancel(mark); };
  head = std::make_unique<SimHead>(world, scheduler.take(), config.headDecision,
                                   std::move(outputs));
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

/// Tokens that the request may have when its text is not stopped.
static int64_t tokenLimit(const RequestSpec &spec, int64_t context) {
  // The last token need not fit the context: nothing comes after it.
  int64_t room = context - static_cast<int64_t>(spec.prompt.size()) + 1;
  return spec.maxTokens < 0 ? room : std::min(spec.maxTokens, room);
}

Status Run::checkRequest(const SimRequest &request,
                         const RequestOutcome &outcome) const {
  if (outcome.finishes != 1)
    return failure("ended ", outcome.finishes, " times");
  PathKey path = target.begin(request.asked.spec.prompt);
  const std::vector<int32_t> &stops = request.asked.spec.stopTokens;
  int64_t limit = tokenLimit(request.asked.spec,
                             head->core().rows().limits().contextLength);
  auto isStop = [&](int32_t token) {
    return std::find(stops.begin(), stops.end(), token) != stops.end();
  };
  auto count = static_cast<int64_t>(outcome.tokens.size());
  for (int64_t i = 0; i < count; ++i) {
    int32_t wanted = target.next(path, i);
    if (outcome.tokens[i] != wanted || isStop(wanted))
      return failure("token ", i, " is ", outcome.tokens[i], ", not ", wanted,
                     isStop(wanted) ? ", where it stops" : "");
    path.add(wanted);
  }
  if (count > limit)
    return failure(count, " tokens, of ", limit, " at most");
  if ((request.cancelled && outcome.reason == FinishReason::Cancelled) ||
      (request.asked.deadline && outcome.reason == FinishReason::Timeout))
    return {};
  bool stopped = count < limit && isStop(target.next(path, count));
  FinishReason wanted = stopped ? FinishReason::Stop : FinishReason::Length;
  if (outcome.reason != wanted || (!stopped && count < limit))
    return failure("ended as ", finishReasonName(outcome.reason), " after ",
                   count, " tokens of ", limit);
  return {};
}

Status Run::checkWorker(const Worker &worker, const std::string &name) const {
  Stage::Holdings held = worker.core().holdings();
  held.kept = 0; // for requests to come
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
                   " requests wait, ", load.paused, " are paused");
  for (int64_t s = 0; s < stageCount; ++s)
    if (Status status = checkWorker(*stages[s], "stage " + std::to_string(s));
        !status.ok())
      return status;
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
  for (size_t i = 0; i < result.requests.size(); ++i)
    if (Status s = checkRequest(config.requests[i], result.requests[i]);
        !s.ok())
      return s.withContext("request " + std::to_string(i));
  if (Status s = checkHoldings(); !s.ok())
    return s;
  if (draft)
    result.workers.push_back(outcomeOf(*draft, "draft"));
  for (int64_t s = 0; s < stageCount; ++s)
    result.workers.push_back(
        outcomeOf(*stages[s], "stage " + std::to_string(s)));
  countHops(result);
  result.speculation = head->core().rows().totals();
  result.pauses = head->core().pauses();
  result.prefixWaits = head->core().prefixWaits();
  result.foundTokens = head->core().rows().ledger().foundTokens();
  result.shortChunks = head->shortChunks();
  result.end = world.queue.now();
  result.events = world.queue.happened();
  return result;
}

Expected<SimulationResult> sim::simulate(const SimulationConfig &config) {
  Run run(config);
  if (Status s = run.build(); !s.ok())
    return s;
  if (Status s = run.play(); !s.ok())
    return s;
  return run.finish();
}
