//===- Worker.cpp - a stage's worker in virtual time ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/Worker.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

using namespace sluice;
using namespace sluice::sim;

/// Returns entry `count` - 1 of a table that continues in a straight line.
static Time lookUp(const std::vector<Time> &table, int64_t count) {
  auto known = static_cast<int64_t>(table.size());
  if (count < 1 || known == 0)
    return Time(0);
  if (count <= known)
    return table[count - 1];
  Time slope = known < 2 ? Time(0) : table[known - 1] - table[known - 2];
  return table[known - 1] + slope * (count - known);
}

Time StepModel::step(int64_t rows, int64_t outputs) const {
  return lookUp(byRows, rows) + lookUp(byOutputs, outputs);
}

void Rank::publish(const EpochMark &mark, Time decided) {
  if (isDead)
    return;
  bool news = board.publish(mark, decided);
  news |= draftBoard.publish(mark, decided);
  for (Worker *worker : workers)
    if (news)
      worker->boardChanged();
}

Worker::Worker(World &world, Rank &rank, WorkerSetup setup)
    : world(world), rank(rank), setup(std::move(setup)) {
  rank.workers.push_back(this);
}

Status Worker::open() {
  assert(!setup.model.byRows.empty());
  Expected<CachePages> made = CachePages::create(
      {setup.pages, setup.limits.branches, setup.limits.contextLength});
  if (!made)
    return made.status();
  pages = made.take();
  Expected<Stage> opened = Stage::create(setup.limits, *pages, board());
  if (!opened)
    return opened.status();
  stage.emplace(opened.take());
  if (setup.checkCache)
    contents.emplace(setup.pages);
  return {};
}

void Worker::fail(const Status &error) {
  std::string who = setup.track == trace::Track::Draft
                        ? "draft"
                        : "rank " + std::to_string(setup.rank);
  world.fail(error.withContext(who));
}

void Worker::arrive(StepFrame frame) {
  if (rank.isDead)
    return;
  uint64_t step = frame.step;
  Expected<uint64_t> number = stage->enqueue(std::move(frame));
  if (!number)
    return fail(number.status());
  queued(*number, step);
  world.note(trace::Kind::Mailbox, setup.rank, setup.track, {stage->queued()});
  wake();
}

/// Frames that arrive while the thread wakes up are taken by the same wake-up.
void Worker::wake() {
  if (setup.wakeUp <= Time(0))
    return start();
  if (running || std::exchange(waking, true))
    return;
  world.queue.schedule(world.queue.now() + setup.wakeUp, *this,
                       generation * eventKinds + WakeUp);
}

void Worker::start() {
  if (running)
    return;
  if (rank.computing) {
    if (std::find(rank.waiting.begin(), rank.waiting.end(), this) ==
        rank.waiting.end())
      rank.waiting.push_back(this);
    return;
  }
  deviceFree();
}

void Worker::deviceFree() {
  while (!running && world.failure.ok() && formStep()) {
    if (stage->batch().rows() > 0)
      return;
    finishChecked({}); // without rows the frame goes on at once
  }
}

/// Begins the next step, if the mailbox has one.
bool Worker::formStep() {
  Expected<bool> formed = stage->formStep();
  if (!formed) {
    fail(formed.status());
    return false;
  }
  rowsAtStart = *formed ? stage->batch().rows() : 0;
  if (rowsAtStart > 0)
    counted.steps.push_back({static_cast<int32_t>(rowsAtStart),
                             static_cast<int32_t>(stage->batch().outputs())});
  if (*formed && contents)
    contents->beginStep(*stage, *pages);
  if (rowsAtStart == 0)
    return *formed;
  rank.computing = this;
  running = true;
  began = sliceBegan = world.queue.now();
  idle = began - idleSince;
  if (idleSince > Time(0))
    counted.idle += idle;
  factor = world.faults.stepFactor();
  stretches = stretchesToGo = setup.model.stretches(presentTime());
  checkpointPending = false;
  scheduleEnd();
  return true;
}

/// Returns how many slots below the highest one with a row have no row.
static int64_t holesIn(std::span<const Row> rows) {
  RequestId highest = -1;
  std::vector<uint8_t> seen;
  int64_t slots = 0;
  for (const Row &row : rows) {
    highest = std::max(highest, row.request);
    seen.resize(std::max(seen.size(), static_cast<size_t>(row.request) + 1));
    slots += !std::exchange(seen[static_cast<size_t>(row.request)], 1);
  }
  return highest + 1 - slots;
}

/// Returns how long a step of the present rows takes.
Time Worker::presentTime() const {
  const StepBatch &batch = stage->batch();
  int64_t holes = setup.model.keepsHoles ? holesIn(stage->rows()) : 0;
  return setup.model.step(batch.rows() + holes, batch.outputs() + holes);
}

/// Schedules the end of the step for the case that no more rows leave.
void Worker::scheduleEnd() {
  stretch = Time(std::llround(static_cast<double>(presentTime().count()) *
                              factor / static_cast<double>(stretches)));
  world.queue.schedule(sliceBegan + stretch * stretchesToGo, *this,
                       ++generation * eventKinds + StepEnd);
}

void Worker::boardChanged() {
  if (!running || checkpointPending || stretch <= Time(0))
    return;
  Time now = world.queue.now();
  int64_t passed = (now - sliceBegan + stretch - Time(1)) / stretch;
  if (passed >= stretchesToGo)
    return; // the step ends first
  checkpointPending = true;
  world.queue.schedule(sliceBegan + stretch * std::max<int64_t>(passed, 1),
                       *this, generation * eventKinds + Checkpoint);
}

void Worker::onEvent(uint64_t what) {
  if (rank.isDead)
    return;
  if (what % eventKinds == WakeUp) {
    waking = false;
    return start();
  }
  if (what / eventKinds != generation || !running)
    return;
  if (what % eventKinds == Checkpoint)
    checkpoint();
  else
    endStep();
}

void Worker::checkpoint() {
  checkpointPending = false;
  int64_t before = stage->batch().rows();
  stage->checkpoint();
  int64_t after = stage->batch().rows();
  if (before == after)
    return;
  for (Time decided : stage->cancelsOfDeparted())
    counted.cancelLatencies.push_back(world.queue.now() - decided);
  world.note(trace::Kind::Checkpoint, setup.rank, setup.track,
             {before - after, after});
  int64_t passed = (world.queue.now() - sliceBegan) / stretch;
  counted.checkpoints += static_cast<uint64_t>(passed);
  stretchesToGo -= passed;
  sliceBegan = world.queue.now();
  if (after == 0) {
    stretchesToGo = 0;
    return endStep();
  }
  scheduleEnd();
}

void Worker::finishChecked(const StageTiming &timing) {
  if (contents)
    if (Status s = contents->endStep(*stage, *pages); !s.ok())
      fail(s);
  finish(timing);
}

void Worker::endStep() {
  Time now = world.queue.now();
  counted.checkpoints +=
      static_cast<uint64_t>(std::max<int64_t>(stretchesToGo - 1, 0));
  counted.busy += now - began;
  auto departed = static_cast<int32_t>(rowsAtStart - stage->batch().rows());
  world.span(
      trace::Kind::Step, setup.rank, setup.track, began, now,
      {rowsAtStart, departed, static_cast<int64_t>(stage->counters().steps)});
  running = false;
  ++generation;
  idleSince = now;
  rank.computing = nullptr;
  finishChecked({static_cast<int32_t>(rowsAtStart), departed,
                 (now - began).count(), idle.count()});
  // The worker that has waited longest for the device comes first.
  while (!rank.computing && !rank.waiting.empty()) {
    Worker *next = rank.waiting.front();
    rank.waiting.erase(rank.waiting.begin());
    next->deviceFree();
  }
  start();
}
