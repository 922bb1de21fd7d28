//===- StageWorker.cpp - the thread of a stage ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/StageWorker.h"

#include "runtime/base/Guarded.h"
#include "runtime/base/TimerSlack.h"

using namespace sluice;
using namespace sluice::pipeline;

/// Answers the executor at its checkpoints.
class StageWorker::Checkpoints final : public device::CheckpointHandler {
public:
  explicit Checkpoints(StageWorker &worker) : worker(worker) {}
  /// An emulated step has checkpoints of its own, at the times of the described
  /// hardware; see pace().
  std::span<const RowMove> checkpoint() override {
    if (worker.pacer)
      return {};
    return worker.checkpoint();
  }
  bool findDead(std::span<uint8_t> alive) override {
    if (worker.pacer)
      return false;
    if (worker.config.group)
      worker.config.group->look();
    return worker.stage->findDead(alive);
  }
  void agree() override { worker.agree(); }
  std::span<const RowMove> leave(std::span<const uint8_t> alive,
                                 Time seen) override {
    if (worker.pacer)
      return {};
    uint64_t before = worker.stage->counters().departedAtCheckpoint;
    return worker.noteLeft(before, seen, worker.stage->leave(alive));
  }
  std::span<const RowMove> dropOrphans() override {
    uint64_t before = worker.stage->counters().departedAtCheckpoint;
    return worker.noteLeft(before, now(), worker.stage->dropOrphans());
  }

private:
  StageWorker &worker;
};

StageWorker::StageWorker(StageWorkerConfig config)
    : config(std::move(config)), mailbox(this->config.limits.frames) {}

Expected<std::unique_ptr<StageWorker>> StageWorker::create(
    StageWorkerConfig config, EpochBoard &board,
    std::unique_ptr<StepCompute> compute, std::unique_ptr<StepOutput> output,
    std::unique_ptr<StepPacer> pacer, RoleTrace trace, Events events) {
  std::unique_ptr<StageWorker> worker(new StageWorker(config));
  const StageLimits &limits = config.limits;
  Expected<CachePages> pages = CachePages::create(
      {worker->config.pages, limits.branches, limits.contextLength});
  if (!pages)
    return pages.status().withContext(config.name);
  worker->pages.emplace(pages.take());
  Expected<Stage> stage = Stage::create(
      limits, *worker->pages, config.group ? config.group->board() : board);
  if (!stage)
    return stage.status().withContext(config.name);
  worker->stage.emplace(stage.take());
  if (config.group)
    config.group->start(limits, worker->config.pages);
  worker->compute = std::move(compute);
  worker->output = std::move(output);
  if (Status s = worker->output->start(
          [mailbox = &worker->mailbox] { mailbox->wake(); });
      !s.ok())
    return s.withContext(config.name);
  worker->pacer = std::move(pacer);
  worker->trace = std::move(trace);
  worker->events = std::move(events);
  worker->incoming.reserve(size_t(limits.rows));
  worker->incomingOnDevice.reserve(size_t(limits.rows));
  worker->requests.reserve(size_t(limits.outputs));
  worker->found.reserve(size_t(limits.rows));
  return worker;
}

void StageWorker::run() {
  if (Status s = guarded([this] { return runAll(); }); !s.ok())
    events.failed(s.withContext(config.name));
  else if (atEnd)
    events.ended();
}

Status StageWorker::poll() {
  return guarded([this] {
    SLUICE_RETURN_IF_ERROR(admitArrivals(/*wait=*/false));
    if (stage->queued() > 0)
      SLUICE_RETURN_IF_ERROR(runStep());
    return output->sendLate();
  });
}

Status StageWorker::runAll() {
  if (config.group)
    SLUICE_RETURN_IF_ERROR(config.group->barrier());
  return follows() ? followSteps() : runSteps();
}

Status StageWorker::runSteps() {
  if (pacer)
    waitPrecisely();
  while (open || stage->queued() > 0) {
    if (open)
      SLUICE_RETURN_IF_ERROR(admitArrivals(/*wait=*/stage->queued() == 0));
    if (stage->queued() > 0)
      SLUICE_RETURN_IF_ERROR(runStep());
    SLUICE_RETURN_IF_ERROR(output->sendLate());
  }
  if (atEnd)
    SLUICE_RETURN_IF_ERROR(output->finish());
  return config.group && atEnd ? config.group->tellEnd() : Status();
}

/// The body for members that are not the first: takes the steps that the first
/// member takes.
Status StageWorker::followSteps() {
  while (open) {
    Expected<bool> more = config.group->hearStep(heard);
    if (!more)
      return more.status();
    if (!*more) {
      atEnd = true;
      open = false;
      break;
    }
    for (comm::Bytes &bytes : heard) {
      ArrivedFrame arrival;
      arrival.bytes = std::move(bytes);
      SLUICE_RETURN_IF_ERROR(config.readFrame(arrival));
      SLUICE_RETURN_IF_ERROR(admit(std::move(arrival)));
    }
    config.group->takeMarks();
    SLUICE_RETURN_IF_ERROR(runStep());
  }
  return {};
}

Status StageWorker::admit(ArrivedFrame arrival) {
  Expected<uint64_t> number = stage->enqueue(std::move(arrival.frame));
  if (!number)
    return number.status();
  if (arrivals.empty())
    firstArrival = *number;
  arrivals.push_back(std::move(arrival));
  return {};
}

/// Tells the other members which frames have come since the last step.
Status StageWorker::tellStep() {
  untold.clear();
  for (; firstUntold < firstArrival + arrivals.size(); ++firstUntold)
    untold.push_back(arrivals[firstUntold - firstArrival].bytes);
  return config.group->tellStep(untold);
}

/// Moves queued frames to the stage, as far as it has room.
Status StageWorker::admitArrivals(bool wait) {
  open = mailbox.take(taken, wait, config.limits.frames - stage->queued());
  for (ArrivedFrame &arrival : taken) {
    if (arrival.last) {
      atEnd = true;
      open = false;
      break;
    }
    SLUICE_RETURN_IF_ERROR(admit(std::move(arrival)));
  }
  atStage = stage->queued();
  if (!taken.empty() && events.roomChanged)
    events.roomChanged();
  taken.clear();
  return {};
}

Status StageWorker::runStep() {
  Time start = now();
  if (config.group && !follows())
    SLUICE_RETURN_IF_ERROR(tellStep());
  Expected<bool> formed = stage->formStep();
  if (!formed)
    return formed.status();
  if (!*formed)
    return {};
  if (config.group)
    config.group->formed(*stage, *pages);
  atStage = stage->queued();
  int64_t rows = stage->batch().rows();
  uint64_t departedBefore = stage->counters().departedAtCheckpoint;
  if (rows > 0)
    SLUICE_RETURN_IF_ERROR(computeStep(start));
  outgoing.clear();
  stage->finishStep(outgoing);
  outgoing.timings.push_back(account(start, rows, departedBefore));
  Status sent = output->send(outgoing);
  releaseArrivals();
  return sent;
}

Status StageWorker::computeStep(Time start) {
  const StepBatch &batch = stage->batch();
  if (!pacer)
    return computeRows(stage->pageCopies());
  Time end = pace(start);
  std::span<const PageCopy> added = stage->pageCopies();
  copies.insert(copies.end(), added.begin(), added.end());
  if (batch.rows() == 0)
    return {};
  pacer->waitUntil(end - pacer->computing(batch.rows()));
  Time began = now();
  SLUICE_RETURN_IF_ERROR(computeRows(copies));
  copies.clear();
  pacer->computed(batch.rows(), now() - began);
  pacer->waitUntil(end);
  return {};
}

/// Finds where each row of the step lies.
void StageWorker::findIncoming() {
  incoming.clear();
  incomingOnDevice.clear();
  if (!compute->receives())
    return;
  for (const RowOrigin &origin : stage->origins()) {
    const ArrivedFrame &arrival = arrivals[origin.frame - firstArrival];
    if (config.payloadRowBytes > 0)
      incomingOnDevice.push_back(arrival.payload.address +
                                 uint64_t(origin.frameRow) *
                                     uint64_t(config.payloadRowBytes));
    else
      incoming.push_back(arrival.activations.row(origin.frameRow));
  }
}

/// Computes the step's rows on this machine's device.
Status StageWorker::computeRows(std::span<const PageCopy> pageCopies) {
  findIncoming();
  traceIncoming();
  requests.clear();
  for (int32_t row : stage->batch().outputRows())
    requests.push_back(output->requestOf(*stage, row));
  Checkpoints checkpoints(*this);
  device::StepInput input;
  input.batch = &stage->batch();
  input.pages = &*pages;
  input.copies = pageCopies;
  input.incoming = incoming;
  input.incomingFormat = config.incomingFormat;
  input.incomingOnDevice = incomingOnDevice;
  input.outgoing = output->rowBuffer(stage->batch().rows());
  input.outgoingFormat = output->format();
  input.keepsOutgoing = output->keepsRows();
  input.requests = requests;
  input.checkpoints = config.hasCheckpoints ? &checkpoints : nullptr;
  input.timesWaits = trace.isOn();
  output->begin(*stage);
  Status executed = compute->execute(input);
  if (!groupFailed.ok())
    return groupFailed;
  if (!executed.ok())
    return executed;
  accountWaits();
  if (stage->batch().rows() == 0)
    return {};
  SLUICE_RETURN_IF_ERROR(output->collect(*stage, *compute));
  traceOutgoing();
  return {};
}

/// Records the rows that come in with numbers that are not finite. Rows in the
/// device's memory are not looked at.
void StageWorker::traceIncoming() {
  if (!trace.isOn() || incoming.empty())
    return;
  for (size_t row = 0; row < incoming.size(); ++row) {
    const RowOrigin &origin = stage->origins()[row];
    const comm::ActivationRows &rows =
        arrivals[origin.frame - firstArrival].activations;
    if (!areFinite(rows.format, incoming[row], rows.width))
      traceNotFinite(stage->rows()[row], trace::RowPlace::ComesIn);
  }
}

/// Likewise the rows that go out, to the next stage or as logits.
void StageWorker::traceOutgoing() {
  if (!trace.isOn())
    return;
  for (int64_t row = 0; row < stage->batch().rows(); ++row)
    if (!output->isFinite(*stage, row))
      traceNotFinite(stage->rows()[size_t(row)], trace::RowPlace::GoesOut);
}

/// The first rows suffice, and a broken model would fill the trace.
void StageWorker::traceNotFinite(const Row &row, trace::RowPlace place) {
  constexpr int64_t maxTraced = 64;
  if (++notFinite <= maxTraced)
    trace.notFinite(row, place);
}

/// Passes the checkpoints that the step has on the described hardware, each at
/// its time, as long as there is time left to compute the rows; rows that leave
/// are never computed. Returns when the step ends.
Time StageWorker::pace(Time start) {
  const StepBatch &batch = stage->batch();
  const int64_t stretches = pacer->stretches(batch.rows(), batch.outputs());
  int64_t remaining = stretches;
  Time at = start;
  while (batch.rows() > 0) {
    Time stretch = pacer->stretch(batch.rows(), batch.outputs(), stretches);
    if (remaining == 1 ||
        stretch * (remaining - 1) < pacer->computing(batch.rows()))
      return at + stretch * remaining;
    at += stretch;
    --remaining;
    pacer->waitUntil(at);
    checkpoint();
  }
  return at;
}

std::span<const RowMove> StageWorker::checkpoint() {
  if (config.group && groupFailed.ok())
    groupFailed = config.group->checkpoint();
  // The group has failed. The step goes on with its rows, for nothing, and
  // without the other members.
  if (!groupFailed.ok())
    return {};
  uint64_t before = stage->counters().departedAtCheckpoint;
  std::span<const RowMove> moves = stage->checkpoint();
  return noteLeft(before, now(), moves);
}

/// Marks the rows as dead that the first member found dead while its device
/// computed.
void StageWorker::agree() {
  if (!config.group || !groupFailed.ok())
    return;
  found.assign(size_t(stage->batch().rows()), 1);
  groupFailed = config.group->agree([this] { (void)stage->findDead(found); });
}

/// Records the departures since there were `before` of them; `at` is when the
/// rows left.
std::span<const RowMove> StageWorker::noteLeft(uint64_t before, Time at,
                                               std::span<const RowMove> moves) {
  uint64_t departed = stage->counters().departedAtCheckpoint - before;
  if (departed == 0)
    return moves;
  for (Time decided : stage->cancelsOfDeparted())
    cancelLatency.add(at - decided);
  trace.checkpoint(at, int64_t(departed), stage->batch().rows());
  return moves;
}

/// Releases the frames none of whose rows is needed any more.
void StageWorker::releaseArrivals() {
  uint64_t firstInUse = stage->firstFrameInUse();
  while (!arrivals.empty() && firstArrival < firstInUse) {
    if (events.released)
      events.released(std::move(arrivals.front()));
    arrivals.pop_front();
    ++firstArrival;
  }
}

StageTiming StageWorker::account(Time start, int64_t rows,
                                 uint64_t departedBefore) {
  Time end = now();
  StageTiming timing;
  timing.rows = int32_t(rows);
  timing.departed =
      int32_t(stage->counters().departedAtCheckpoint - departedBefore);
  if (rows > 0) {
    timing.busyNanos = (end - start).count();
    if (lastEnd.count() > 0)
      timing.idleNanos = std::max<int64_t>(0, (start - lastEnd).count());
    busy += Time(timing.busyNanos);
    idle += Time(timing.idleNanos);
    lastEnd = end;
    trace.step(start, end, rows, timing.departed, stage->counters().steps);
  }
  return timing;
}

void StageWorker::accountWaits() {
  std::optional<device::StepWaits> waits = compute->waits();
  if (!waits)
    return;
  barriers += uint64_t(waits->barriers);
  waited += waits->mean;
  trace.waits(now(), *waits);
}

StageReport StageWorker::report() const {
  const Stage::Counters &counters = stage->counters();
  StageReport report;
  report.name = config.name;
  report.rank = config.rank;
  report.member = config.group ? config.group->member() : 0;
  report.steps = counters.steps;
  report.rows = counters.rows;
  report.guesses = counters.guesses;
  report.droppedAtMailbox = counters.droppedAtMailbox;
  report.departedAtCheckpoint = counters.departedAtCheckpoint;
  report.checkpoints = counters.checkpoints;
  report.tombstones = counters.tombstones;
  report.busySeconds = std::chrono::duration<double>(busy).count();
  report.idleSeconds = std::chrono::duration<double>(idle).count();
  report.barriers = barriers;
  report.waitSeconds = std::chrono::duration<double>(waited).count();
  report.cancelLatency = cancelLatency.summarize();
  return report;
}
