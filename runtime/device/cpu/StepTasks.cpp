//===- StepTasks.cpp - the tasks of a step, run by a thread ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/StepTasks.h"

#include <algorithm>
#include <cassert>
#include <cstring>

using namespace sluice;
using namespace sluice::cpu;
using namespace sluice::device;

namespace {

/// Makes a thread's share of the moves of a buffer's records: all moves, for
/// some of the columns. A move may overwrite what an earlier one has read, so a
/// thread must make them in order.
void makeMoves(std::span<const RowMove> moves, float *x, int64_t floats,
               int64_t thread, int64_t threads) {
  constexpr int64_t blockFloats = 64;
  float spare[blockFloats];
  int64_t blocks = (floats + blockFloats - 1) / blockFloats;
  int64_t end = blocks * (thread + 1) / threads;
  for (int64_t block = blocks * thread / threads; block < end; ++block) {
    int64_t column = block * blockFloats;
    auto bytes = static_cast<size_t>(std::min(blockFloats, floats - column)) *
                 sizeof(float);
    auto at = [&](int32_t slot) {
      return slot == SluiceStep::spareSlot ? spare : x + slot * floats + column;
    };
    for (RowMove move : moves)
      std::memcpy(at(move.to), at(move.from), bytes);
  }
}

/// Runs the tasks of a step on one thread. run() executes a task and returns
/// whether the step continues after it.
class TaskThread {
public:
  TaskThread(SluiceStep &step, StepCounts counts, int64_t thread,
             int64_t threads)
      : step(step), counts(counts), thread(thread), threads(threads) {}

  bool run(const BoundRowLoop &task) {
    int64_t count = counts.of(task.kind);
    task.kernel(&step, task.arguments.data(), count * thread / threads,
                count * (thread + 1) / threads);
    return true;
  }

  bool run(const BoundProduct &task) {
    linear(*step.linear, task.weight, task.input, task.bias, task.output,
           counts.of(task.kind),
           {thread, threads, step.scratchOf(thread), step.tickets, task.loop});
    return true;
  }

  bool run(const BoundAppend &task);
  bool run(const BoundAttend &task);
  bool run(const BoundExchange &task);
  bool run(const BoundCheckpoint &task);

  bool run(const BoundBarrier &) {
    step.barrier(thread);
    return true;
  }

private:
  SluiceStep &step;
  StepCounts counts;
  const int64_t thread;
  const int64_t threads;
};

/// The threads share the pairs of a kv head and a row of k[row][kvHead][dim],
/// and then the pairs of a kv head and a mirror.
bool TaskThread::run(const BoundAppend &task) {
  LayerCache &cache = *task.cache;
  int64_t kvHeads = cache.layout().kvHeads;
  int64_t headDim = cache.layout().headDim;
  const StepBatch &batch = *step.input.batch;
  auto store = [&](SequenceId sequence, int64_t row, int64_t kvHead) {
    int64_t position = batch.positions()[row];
    std::span<const int32_t> pages = step.input.pages->pages(sequence);
    int64_t from = (row * kvHeads + kvHead) * headDim;
    cache.store(pages[position / CachePages::pageTokens],
                position % CachePages::pageTokens, kvHead, task.key + from,
                task.value + from);
  };
  std::span<const Mirror> mirrors = batch.mirrors();
  int64_t pairs =
      (counts.rows + static_cast<int64_t>(mirrors.size())) * kvHeads;
  int64_t end = pairs * (thread + 1) / threads;
  for (int64_t pair = pairs * thread / threads; pair < end; ++pair) {
    int64_t place = pair / kvHeads, kvHead = pair % kvHeads;
    if (place < counts.rows) {
      store(batch.sequences()[place], place, kvHead);
    } else {
      const Mirror &mirror = mirrors[place - counts.rows];
      store(mirror.sequence, mirror.row, kvHead);
    }
  }
  return true;
}

/// The rows' own keys and values are read from the cache too, in the form in
/// which they are stored. Therefore a row's result is the same however its
/// sequence was divided into steps.
bool TaskThread::run(const BoundAttend &task) {
  const StepInput &input = step.input;
  const SluiceAttention &attention = task.attention;
  float *scratch = step.scratchOf(thread);
  int64_t rowFloats = attention.heads * attention.headDim;
  AttentionUnits units(step.runs, attention, threads);
  int64_t number;
  while ((number = step.tickets.take(task.loop, units.count())) !=
         Tickets::none) {
    UnitPlace place = units.place(number);
    AttentionUnit unit = {};
    unit.params = &attention;
    setCache(unit, *task.cache, place.kvHead);
    unit.pages =
        input.pages->pages(input.batch->sequences()[place.rowBegin]).data();
    unit.positions = input.batch->positions().data() + place.rowBegin;
    unit.rows = place.rows;
    unit.headBegin = place.headBegin;
    unit.headCount = place.headCount;
    unit.q = task.query + place.rowBegin * rowFloats;
    unit.out = task.output + place.rowBegin * rowFloats;
    step.attention->attend(unit, scratch);
  }
  return true;
}

/// Thread 0 exchanges the records with the other members, unless the group has
/// broken already. If it has broken, the output has arbitrary values and the
/// step ends at its next checkpoint.
bool TaskThread::run(const BoundExchange &task) {
  assert(step.group && "the executor of a member knows its group");
  if (thread != 0 || !step.broken.ok())
    return true;
  comm::Collectives &group = *step.group;
  int64_t count = counts.of(task.kind);
  auto in = static_cast<size_t>(count * task.inputFloats);
  auto out = static_cast<size_t>(count * task.outputFloats);
  std::span<float> scratch = {task.scratch,
                              in * static_cast<size_t>(group.members())};
  if (task.operation == ExchangeTask::Operation::Sum)
    step.broken =
        group.allReduce({task.input, in}, {task.output, out}, scratch);
  else
    step.broken =
        group.allGather({task.input, in}, task.inputFloats, {task.output, out},
                        task.outputFloats, scratch);
  return true;
}

bool TaskThread::run(const BoundCheckpoint &task) {
  step.barrier(thread);
  const bool over = !step.broken.ok();
  const bool mayLeave = !over && step.input.checkpoints;
  if (mayLeave && thread == 0)
    step.passCheckpoint();
  // In a group, thread 0 may reach the next exchange and set step.broken before
  // the other threads have read it, so a second barrier is needed.
  if (mayLeave || step.group)
    step.barrier(thread);
  const StepBatch &batch = *step.input.batch;
  if (over || batch.rows() == 0)
    return false;
  if (batch.rows() == counts.rows)
    return true;
  counts = {batch.rows(), batch.outputs()};
  for (const BoundCheckpoint::Moved &buffer : task.buffers)
    makeMoves(buffer.kind == RecordKind::Rows
                  ? step.rowMoves
                  : std::span<const RowMove>(step.outputMoves),
              buffer.start, buffer.floats, thread, threads);
  if (!task.buffers.empty())
    step.barrier(thread);
  return true;
}

} // namespace

void StepTasks::run(SluiceStep &step, StepCounts counts, int64_t thread,
                    int64_t threads) const {
  TaskThread self(step, counts, thread, threads);
  for (const BoundTask &task : tasks)
    if (!std::visit([&](const auto &each) { return self.run(each); }, task))
      return;
}
