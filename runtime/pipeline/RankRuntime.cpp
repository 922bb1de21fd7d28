//===- RankRuntime.cpp - one rank of a job with its roles -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/RankRuntime.h"

#include "runtime/base/Insist.h"

using namespace sluice;
using namespace sluice::pipeline;

using comm::Bytes;
using comm::Lane;

namespace {

constexpr int64_t headRank = 0;

/// The largest size of a frame without its activations, in bytes.
constexpr int64_t besideActivations = int64_t{1} << 20;

/// A timeout for ranks that are alive, however long their steps take. The
/// communicator notices if a rank is not.
constexpr std::chrono::hours whileAlive{24 * 365};

/// How often a waiting rank checks whether it was told to terminate, and how
/// long it then gives the head, which may have been told the same, to end its
/// requests. If the head does, it ends all ranks in order.
constexpr std::chrono::milliseconds lookEvery{50};
constexpr std::chrono::milliseconds terminationGrace{2000};

} // namespace

PipelineLimits PipelineSettings::limits(const PipelineShape &shape) const {
  PipelineLimits limits;
  limits.speculation = speculation;
  limits.requests = requests;
  limits.contextLength = shape.contextLength;
  limits.vocabSize = shape.vocabSize;
  limits.prefillRows = prefillRows;
  limits.stages = int64_t(shape.stageRanks.size());
  limits.pages = pages;
  limits.sharesPrefixes = sharesPrefixes;
  limits.interTokenLatency = interTokenLatency;
  limits.channelFrames = channelFrames;
  limits.fuse = fuse;
  return limits;
}

//===----------------------------------------------------------------------===//
// Making the roles
//===----------------------------------------------------------------------===//

RankRuntime::RankRuntime(RankSetup given, comm::Communicator &communicator)
    : setup(std::move(given)), comm(communicator),
      codec(setup.shape.identity, frameLimits()),
      board(setup.settings.requests), draftBoard(setup.settings.requests),
      headTrace(traceFor(trace::Track::Head)),
      stageTrace(traceFor(trace::Track::Stage)) {
  if (setup.settings.trace)
    commTrace =
        RoleTrace(commEvents, comm.rank(),
                  setup.isHead ? trace::Track::Head : trace::Track::Stage);
}

RankRuntime::~RankRuntime() {
  comm.detach(); // `comm` lives on and must not call a destroyed object
  stopWorkers();
}

RoleTrace RankRuntime::traceFor(trace::Track track) {
  if (!setup.settings.trace)
    return {};
  TraceBuffer *buffers[] = {&headEvents, &draftEvents, &stageEvents};
  return RoleTrace(*buffers[size_t(track)], comm.rank(), track);
}

/// Returns the limits of frames that may arrive at this rank.
comm::FrameLimits RankRuntime::frameLimits() const {
  StageLimits stage = setup.settings.limits(setup.shape).stage();
  comm::FrameLimits limits;
  limits.rows = stage.rows;
  limits.requests = setup.settings.requests;
  limits.contextLength = setup.shape.contextLength;
  limits.sharedPages = stage.sharedPages;
  limits.vocabSize = setup.shape.vocabSize;
  limits.width =
      setup.stage > 0 && !setup.deviceRows ? setup.shape.hiddenSize : 0;
  limits.format = setup.settings.activations;
  limits.stages = int64_t(setup.shape.stageRanks.size());
  limits.reportEntries = setup.shape.vocabSize + 1;
  return limits;
}

Expected<std::unique_ptr<RankRuntime>>
RankRuntime::create(RankSetup setup, comm::Communicator &communicator) {
  bool isHead = setup.isHead;
  bool hasStage = setup.stage >= 0;
  bool hasDraft = setup.guesser != nullptr;
  std::unique_ptr<RankRuntime> rank(
      new RankRuntime(std::move(setup), communicator));
  if (hasStage)
    SLUICE_RETURN_IF_ERROR(rank->createStage());
  if (hasDraft)
    SLUICE_RETURN_IF_ERROR(rank->createDraft());
  if (isHead)
    SLUICE_RETURN_IF_ERROR(rank->createHead());
  return rank;
}

std::string RankRuntime::stageName() const {
  std::string name = "stage " + std::to_string(setup.stage);
  return followsGroup()
             ? name + " member " + std::to_string(stageGroup->member())
             : name;
}

/// Returns the output of the stage: rows for the next stage, or answers.
std::unique_ptr<StepOutput> RankRuntime::stageOutput() {
  const PipelineShape &shape = setup.shape;
  int64_t rows = setup.settings.limits(shape).stage().rows;
  bool isLast = setup.stage + 1 == int64_t(shape.stageRanks.size());
  if (followsGroup() && setup.deviceRows && !isLast)
    return std::make_unique<DiscardedOutput>();
  if (followsGroup())
    return std::make_unique<DiscardedOutput>(isLast ? 0 : shape.hiddenSize,
                                             setup.settings.activations, rows);
  if (isLast)
    return std::make_unique<ResultOutput>(
        "rank " + std::to_string(comm.rank()) + ": " + stageName(),
        shape.vocabSize, rows, setup.settings.requests, setup.makeTokenTrie,
        [this](const ResultFrame &frame) {
          Bytes bytes = comm.buffers().take();
          codec.encodeResults(frame, bytes);
          return sendData(headRank, std::move(bytes),
                          int64_t(frame.results.size()), frame.step,
                          stageTrace);
        });
  return forwardOutput();
}

std::unique_ptr<StepOutput> RankRuntime::forwardOutput() {
  const PipelineShape &shape = setup.shape;
  int64_t next = shape.stageRanks[size_t(setup.stage) + 1];
  if (setup.deviceRows)
    return std::make_unique<DeviceForwardOutput>(
        [this, next](const StepFrame &frame, const device::DeviceRows &rows) {
          return sendRows(next, frame, rows);
        });
  return std::make_unique<ForwardOutput>(
      shape.hiddenSize, setup.settings.activations,
      setup.settings.limits(shape).stage().rows,
      [this, next](const StepFrame &frame, const comm::ActivationRows &rows) {
        Bytes bytes = comm.buffers().take();
        codec.encodeStep(frame, rows, bytes);
        int64_t count = int64_t(frame.rows.size());
        int64_t emulated = 0;
        if (setup.activationBytes)
          emulated = int64_t(bytes.size() - rows.data.size()) +
                     setup.activationBytes(count);
        return sendData(next, std::move(bytes), count, frame.step, stageTrace,
                        emulated);
      });
}

/// Returns the size of a row that arrives in this stage's device, in bytes; 0
/// if rows arrive in frames.
int64_t RankRuntime::payloadRowBytes() const {
  return setup.deviceRows && setup.stage > 0
             ? setup.shape.hiddenSize * int64_t(sizeof(float))
             : 0;
}

/// Checks that a message can carry the rows of the largest step.
Status RankRuntime::checkMessages() const {
  const PipelineShape &shape = setup.shape;
  int64_t rows = setup.settings.limits(shape).stage().rows;
  int64_t bytes =
      rows * shape.hiddenSize * activationBytes(setup.settings.activations);
  // Rows that stay on devices are in no message.
  if (shape.stageRanks.size() == 1 || setup.deviceRows ||
      bytes <= comm::defaultMessageBytes - besideActivations)
    return {};
  return failure("the rows of a step between stages take ", bytes,
                 " bytes, and a message at most ", comm::defaultMessageBytes,
                 ": take a shorter --prefill-chunk than ",
                 setup.settings.prefillRows);
}

Status RankRuntime::createStage() {
  SLUICE_RETURN_IF_ERROR(checkMessages());
  if (setup.group)
    stageGroup =
        std::make_unique<StageGroup>(*setup.group, board, comm.buffers());
  StageWorkerConfig config;
  config.name = stageName();
  config.group = stageGroup.get();
  config.readFrame = [this](ArrivedFrame &arrival) {
    return decodeStep(arrival);
  };
  config.rank = comm.rank();
  config.incomingFormat = setup.settings.activations;
  config.payloadRowBytes = payloadRowBytes();
  config.limits = setup.settings.limits(setup.shape).stage();
  config.pages = setup.settings.limits(setup.shape).cachePages();
  Expected<std::unique_ptr<StageWorker>> made = StageWorker::create(
      config, board, std::move(setup.stageSetup.compute), stageOutput(),
      std::move(setup.stageSetup.pacer), stageTrace,
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

Status RankRuntime::createDraft() {
  StageWorkerConfig config;
  config.name = "draft";
  config.rank = comm.rank();
  config.limits = setup.settings.limits(setup.shape).draft().stage();
  config.limits.vocabSize = setup.shape.sharedVocabSize();
  config.pages = setup.settings.limits(setup.shape).draft().cachePages();
  auto output = std::make_unique<GuessOutput>(
      std::move(setup.guesser), config.limits.rows, [this](GuessFrame frame) {
        headLoop->onGuesses(std::move(frame));
        return Status();
      });
  Expected<std::unique_ptr<StageWorker>> made = StageWorker::create(
      config, draftBoard, std::move(setup.draftSetup.compute),
      std::move(output), std::move(setup.draftSetup.pacer),
      traceFor(trace::Track::Draft),
      {.failed = [this](Status reason) { fail(reason); },
       .roomChanged = nullptr,
       .ended = nullptr,
       .released = nullptr});
  if (!made)
    return made.status();
  draftWorker = made.take();
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
  headLoop.reset(new HeadLoop(scheduler.take(), *this));
  return {};
}

//===----------------------------------------------------------------------===//
// Start and end
//===----------------------------------------------------------------------===//

void RankRuntime::start() {
  if (headLoop)
    threads.emplace_back([this] { headLoop->run(); });
  if (stageWorker)
    threads.emplace_back([this] { stageWorker->run(); });
  if (draftWorker)
    threads.emplace_back([this] { draftWorker->run(); });
  comm::Communicator::Receiver receiver;
  // Results always have room: the head takes those of everything that it has
  // launched.
  int64_t lastStage = setup.shape.stageRanks.back();
  receiver.roomFor = [this, lastStage](int64_t source) {
    return !stageWorker || (setup.isHead && source == lastStage) ||
           stageWorker->hasRoom();
  };
  receiver.take = [this](comm::Message message) { take(std::move(message)); };
  receiver.failed = [this](Status reason) { fail(reason); };
  comm.start(std::move(receiver));
}

/// Sends the end after the last frame down the stages, so that every stage
/// still sees every frame. Called on the stage's thread.
void RankRuntime::passEndOn() {
  if (!followsGroup() &&
      setup.stage + 1 < int64_t(setup.shape.stageRanks.size())) {
    Bytes bytes = comm.buffers().take();
    codec.encodeShutdown(bytes);
    Status sent = comm.send(setup.shape.stageRanks[size_t(setup.stage) + 1],
                            Lane::Data, std::move(bytes));
    if (!sent.ok())
      return fail(sent);
  }
  std::lock_guard lock(mutex);
  stageEnded = true;
  changed.notify_all();
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
  insist([&] {
    std::lock_guard lock(mutex);
    if (!failed.ok() || over)
      return;
    failed = reason;
    isFirst = true;
    changed.notify_all();
  });
  if (!isFirst)
    return;
  endExchanges(reason);
  if (headLoop) {
    insist([&] { headLoop->onFailure(reason); });
    return;
  }
  Bytes bytes = comm.buffers().take();
  codec.encodeError(comm.rank(), reason.message(), bytes);
  // If this message does not arrive either, the head misses this rank's
  // heartbeat.
  (void)comm.send(headRank, Lane::Control, std::move(bytes));
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
  for (const TraceBuffer *buffer :
       {&headEvents, &draftEvents, &stageEvents, &commEvents}) {
    report.lostEvents += buffer->lost;
    report.events.insert(report.events.end(), buffer->events.begin(),
                         buffer->events.end());
  }
  return report;
}

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
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, lookEvery,
                           [this] { return stageEnded || !failed.ok(); })) {
    if (!since && terminated && terminated())
      since = now();
    if (since && now() - *since > terminationGrace && !requestsEnded()) {
      lock.unlock();
      fail(failure("terminated by a signal"));
      lock.lock();
    }
  }
  over = failed.ok();
  return failed;
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
  Bytes bytes = comm.buffers().take();
  codec.encodeReport(report().serialize(), bytes);
  SLUICE_RETURN_IF_ERROR(comm.send(headRank, Lane::Control, std::move(bytes)));
  return comm.finish(whileAlive);
}

Expected<std::vector<RankReport>> RankRuntime::shutDown() {
  Bytes bytes = comm.buffers().take();
  codec.encodeShutdown(bytes);
  SLUICE_RETURN_IF_ERROR(
      comm.send(setup.shape.stageRanks.front(), Lane::Data, std::move(bytes)));
  size_t others = size_t(comm.size() - 1);
  std::vector<RankReport> all;
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] {
      return !failed.ok() ||
             (reports.size() == others && (!stageWorker || stageEnded));
    });
    if (!failed.ok())
      return failed;
    over = true;
    all = reports;
  }
  // Reports overtake data, so only now has the head received all results.
  Status finished = comm.finish(whileAlive);
  stopWorkers();
  if (!finished.ok())
    return finished;
  all.insert(all.begin(), report());
  std::sort(
      all.begin(), all.end(),
      [](const RankReport &a, const RankReport &b) { return a.rank < b.rank; });
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
