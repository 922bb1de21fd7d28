//===- RankRuntime.cpp - one rank of a job with its roles -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/RankRuntime.h"

#include "runtime/base/Insist.h"
#include "runtime/pipeline/DraftWorker.h"
#include "runtime/pipeline/rank/RankStage.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::pipeline;

namespace {

/// A timeout for ranks that are alive, however long their steps take. The
/// communicator notices if a rank is not.
constexpr std::chrono::hours whileAlive{24 * 365};

/// How often a waiting rank checks whether it was told to terminate, and how
/// long it then gives the head, which may have been told the same, to end its
/// requests. If the head does, it ends all ranks in order.
constexpr std::chrono::milliseconds lookEvery{50};
constexpr std::chrono::milliseconds terminationGrace{2000};

} // namespace

//===----------------------------------------------------------------------===//
// Making the roles
//===----------------------------------------------------------------------===//

RankRuntime::RankRuntime(RankSetup given, comm::Communicator &communicator)
    : setup(std::move(given)), comm(communicator),
      codec(setup.shape.identity, setup.frameLimits()),
      traces(setup.settings.trace, comm.rank(), setup.isHead),
      board(setup.settings.requests), draftBoard(setup.settings.requests),
      sender(setup, codec, comm, traces),
      links(sender, board, draftBoard, traces.head) {}

RankRuntime::~RankRuntime() {
  comm.detach(); // `comm` lives on and must not call a destroyed object
  stopWorkers();
}

Expected<std::unique_ptr<RankRuntime>>
RankRuntime::create(RankSetup setup, comm::Communicator &communicator) {
  const bool isHead = setup.isHead;
  const bool hasStage = setup.stage >= 0;
  const bool hasDraft = setup.guesser != nullptr;
  std::unique_ptr<RankRuntime> rank(
      new RankRuntime(std::move(setup), communicator));
  if (hasStage)
    SLUICE_RETURN_IF_ERROR(rank->createStage());
  if (isHead)
    SLUICE_RETURN_IF_ERROR(rank->createHead());
  if (hasDraft)
    SLUICE_RETURN_IF_ERROR(rank->createDraft());
  return rank;
}

Status RankRuntime::createStage() {
  if (setup.group)
    stageGroup =
        std::make_unique<StageGroup>(*setup.group, board, comm.buffers());
  Expected<std::unique_ptr<StageWorker>> made = makeStageWorker(
      setup, comm.rank(), codec, sender, board, stageGroup.get(), traces.stage,
      {.failed = [this](Status reason) { fail(reason); },
       .roomChanged = [this] { comm.roomChanged(); },
       .ended = [this] { passEndOn(); },
       .released =
           [this](ArrivedFrame arrival) { release(std::move(arrival)); }});
  if (!made)
    return made.status();
  stageWorker = made.take();
  return {};
}

Status RankRuntime::createHead() {
  HeadLimits limits = setup.settings.limits(setup.shape).head();
  limits.hasDraft = setup.shape.hasDraft;
  limits.draftContextLength = setup.shape.draftContextLength;
  Expected<Head> made =
      Head::create(limits, setup.settings.speculation, std::move(setup.times),
                   /*wantsNotes=*/setup.settings.trace);
  if (!made)
    return made.status().withContext(
        "channels of " + std::to_string(setup.settings.channelFrames) +
        " frames");
  Expected<Scheduler> scheduler =
      Scheduler::create(made.take(), setup.settings.scheduler);
  if (!scheduler)
    return scheduler.status();
  headLoop = std::make_unique<HeadLoop>(scheduler.take(), links);
  return {};
}

Status RankRuntime::createDraft() {
  DraftParts parts;
  parts.limits = setup.settings.limits(setup.shape);
  parts.vocabSize = setup.shape.sharedVocabSize();
  parts.compute = std::move(setup.draftSetup.compute);
  parts.guesser = std::move(setup.guesser);
  parts.pacer = std::move(setup.draftSetup.pacer);
  parts.rank = comm.rank();
  Expected<std::unique_ptr<StageWorker>> made =
      makeDraftWorker(std::move(parts), draftBoard, *headLoop, traces.draft,
                      [this](Status reason) { fail(reason); });
  if (!made)
    return made.status();
  draftWorker = made.take();
  links.setDraft(*draftWorker);
  return {};
}

//===----------------------------------------------------------------------===//
// The threads of the roles
//===----------------------------------------------------------------------===//

void RankRuntime::start() {
  receiver.emplace(
      comm, codec,
      RankInboxes{headLoop.get(), followsGroup() ? nullptr : stageWorker.get(),
                  board, job, [this](const Status &reason) { fail(reason); }},
      setup.payloadRowBytes(), traces.comm);
  if (headLoop)
    threads.emplace_back([this] { headLoop->run(); });
  if (stageWorker)
    threads.emplace_back([this] { stageWorker->run(); });
  if (draftWorker)
    threads.emplace_back([this] { draftWorker->run(); });
  comm::Communicator::Receiver callbacks;
  // Results always have room: the head takes those of everything that it has
  // launched.
  int64_t lastStage = setup.shape.stageRanks.back();
  callbacks.roomFor = [this, lastStage](int64_t source) {
    return !stageWorker || (setup.isHead && source == lastStage) ||
           stageWorker->hasRoom();
  };
  callbacks.take = [this](comm::Message message) {
    receiver->take(std::move(message));
  };
  callbacks.failed = [this](Status reason) { fail(reason); };
  comm.start(std::move(callbacks));
}

/// Sends the end after the last frame down the stages, so that every stage
/// still sees every frame.
void RankRuntime::passEndOn() {
  if (!followsGroup() && !setup.isLastStage())
    if (Status sent = sender.forwardEnd(); !sent.ok())
      return fail(sent);
  job.endStage();
}

/// Returns the buffers of a frame that the stage has read to their owners.
void RankRuntime::release(ArrivedFrame arrival) {
  comm.buffers().give(std::move(arrival.bytes));
  if (arrival.payload.bytes > 0)
    setup.deviceRows->giveBack(arrival.payload);
}

/// Ends the exchanges that the stage's GPU waits for: other members of its
/// group may never take part in them.
void RankRuntime::endExchanges(const Status &reason) {
  if (setup.deviceGroup)
    setup.deviceGroup->giveUp(reason);
}

/// Handles a failure here, or one that another rank reports.
void RankRuntime::fail(const Status &reason) {
  bool isFirst = false;
  insist([&] { isFirst = job.fail(reason); });
  if (!isFirst)
    return;
  endExchanges(reason);
  if (headLoop) {
    insist([&] { headLoop->onFailure(reason); });
    return;
  }
  sender.sendError(reason);
}

void RankRuntime::stopWorkers() {
  if (headLoop)
    headLoop->close();
  if (stageWorker)
    stageWorker->close();
  if (draftWorker)
    draftWorker->close();
  comm.stopReceiving(); // wakes a member that waits for its group
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
}

RankReport RankRuntime::report() const {
  RankReport report;
  report.rank = comm.rank();
  report.clock = clockIdentity();
  if (stageWorker)
    report.stages.push_back(stageWorker->report());
  if (draftWorker)
    report.stages.push_back(draftWorker->report());
  report.traffic = comm.traffic();
  traces.addTo(report);
  return report;
}

//===----------------------------------------------------------------------===//
// The end of the job
//===----------------------------------------------------------------------===//

/// Returns whether the head has ended all requests that this rank knows of, and
/// so is about to end the ranks. Marks say so at once, while the steps under
/// way can still take long. In a group, marks that come with frames are on the
/// stage's board, and marks that overtake frames are on the rank's.
bool RankRuntime::requestsEnded() const {
  bool any = false;
  for (RequestId request = 0; request < board.requests(); ++request) {
    EpochBoard::State state = board.get(request);
    if (stageGroup)
      if (EpochBoard::State other = stageGroup->board().get(request);
          other.isNewerThan(state))
        state = other;
    if (state.confirmed != noNode && !state.ended)
      return false;
    any |= state.ended;
  }
  return any;
}

/// Waits for the end, a failure, or a termination that outlasts the grace
/// period.
Status RankRuntime::waitForEnd(const std::function<bool()> &terminated) {
  std::optional<Time> since;
  while (!job.waitForStage(lookEvery)) {
    if (!since && terminated && terminated())
      since = now();
    if (since && now() - *since > terminationGrace && !requestsEnded())
      fail(failure("terminated by a signal"));
  }
  return job.settle();
}

Status RankRuntime::serve(const std::function<bool()> &terminated) {
  Status reason = waitForEnd(terminated);
  stopWorkers();
  // A stage that has ended needs no late cancels, and the trace is about to be
  // read.
  comm.detach();
  if (!reason.ok()) {
    // The head has been told. The message needs time to leave before the
    // process exits.
    (void)comm.finish(std::chrono::seconds(1));
    return reason;
  }
  SLUICE_RETURN_IF_ERROR(sender.sendReport(report()));
  return comm.finish(whileAlive);
}

Expected<std::vector<RankReport>> RankRuntime::shutDown() {
  SLUICE_RETURN_IF_ERROR(sender.launchEnd());
  Expected<std::vector<RankReport>> reports = job.waitForReports(
      size_t(comm.size() - 1), /*hasStage=*/stageWorker != nullptr);
  if (!reports)
    return reports.status();
  // Reports overtake data, so only now has the head received all results.
  Status finished = comm.finish(whileAlive);
  stopWorkers();
  if (!finished.ok())
    return finished;
  std::vector<RankReport> all = reports.take();
  all.push_back(report());
  std::ranges::sort(all, {}, &RankReport::rank);
  return all;
}

void RankRuntime::abort(const Status &reason) {
  comm.abort(reason);
  endExchanges(reason);
  stopWorkers();
}

Stage::Holdings RankRuntime::holdings() const {
  Stage::Holdings sum;
  for (const auto *worker : {stageWorker.get(), draftWorker.get()}) {
    if (!worker)
      continue;
    Stage::Holdings held = worker->holdings();
    sum.requests += held.requests;
    sum.branches += held.branches;
    sum.pages += held.pages;
    sum.frames += held.frames;
    sum.pinned += held.pinned;
  }
  return sum;
}
