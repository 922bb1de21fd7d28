//===- Step.cpp - the state of the step that is executed ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/Step.h"

#include <algorithm>
#include <cassert>

using namespace sluice;
using namespace sluice::cpu;

void SluiceStep::reserve(int64_t rows, int64_t threads) {
  progress.resize(static_cast<size_t>(threads));
  auto count = static_cast<size_t>(rows);
  runs.reserve(count);
  outputOf.reserve(count);
  outputFrom.reserve(count);
  // Each output moves once, and one output of each cycle moves twice.
  outputMoves.reserve(count + count / 2);
}

void SluiceStep::begin(const device::StepInput &given) {
  input = given;
  broken = {};
  rowMoves = {};
  outputMoves.clear();
  std::ranges::fill(progress, Progress());
  tickets.reset();
  cutRuns();
}

void SluiceStep::barrier(int64_t thread) {
  if (!input.timesWaits)
    return pool->barrier();
  auto start = std::chrono::steady_clock::now();
  pool->barrier();
  Progress &own = progress[static_cast<size_t>(thread)];
  own.waited += std::chrono::steady_clock::now() - start;
  ++own.barriers;
}

void SluiceStep::endShare(int64_t thread) {
  progress[static_cast<size_t>(thread)].end = std::chrono::steady_clock::now();
}

device::StepWaits SluiceStep::sumWaits() const {
  device::StepWaits sum;
  sum.layers = static_cast<int64_t>(caches.size());
  auto end = progress.front().end;
  for (const Progress &each : progress)
    end = std::max(end, each.end);
  for (const Progress &each : progress) {
    // All threads also wait for the last one at the step's end.
    Time waited = each.waited + (end - each.end);
    sum.mean += waited;
    sum.longest = std::max(sum.longest, waited);
  }
  sum.mean /= static_cast<int64_t>(progress.size());
  sum.barriers = progress.front().barriers + 1;
  return sum;
}

/// Cuts the batch into runs: a run ends where a row does not follow the row
/// before it in its sequence.
void SluiceStep::cutRuns() {
  const StepBatch &batch = *input.batch;
  std::span<const SequenceId> sequences = batch.sequences();
  std::span<const int32_t> positions = batch.positions();
  runs.clear();
  for (int64_t row = 0; row < batch.rows(); ++row) {
    bool follows = row > 0 && sequences[row] == sequences[row - 1] &&
                   positions[row] == positions[row - 1] + 1;
    if (follows)
      ++runs.back().count;
    else
      runs.push_back({row, 1});
  }
}

void SluiceStep::copyPages(int64_t thread, int64_t threads) {
  // A copy may read what an earlier one wrote, so each thread makes all copies,
  // for its share of every layer's heads.
  for (LayerCache &cache : caches) {
    int64_t heads = cache.layout().kvHeads;
    int64_t begin = heads * thread / threads;
    int64_t end = heads * (thread + 1) / threads;
    for (PageCopy copy : input.copies)
      cache.copyPage(copy.from, copy.to, begin, end);
  }
}

void SluiceStep::passCheckpoint() {
  const StepBatch &batch = *input.batch;
  int64_t before = batch.rows();
  outputOf.assign(static_cast<size_t>(before), -1);
  for (int64_t output = 0; output < batch.outputs(); ++output)
    outputOf[batch.outputRows()[output]] = static_cast<int32_t>(output);

  rowMoves = input.checkpoints->checkpoint();
  outputMoves.clear();
  if (batch.rows() == before) {
    assert(rowMoves.empty() && "rows move where others have left");
    return;
  }
  cutRuns();
  planOutputMoves();
}

/// Orders the moves of outputs so that none is overwritten before it has been
/// read. First come the chains of moves that end in a place no output needs any
/// more, then the cycles, by way of the spare place.
void SluiceStep::planOutputMoves() {
  const StepBatch &batch = *input.batch;
  // A living row keeps its number unless it has moved.
  for (RowMove move : rowMoves)
    outputOf[move.to] = outputOf[move.from];
  auto outputs = static_cast<int32_t>(batch.outputs());
  outputFrom.clear();
  for (int32_t row : batch.outputRows())
    outputFrom.push_back(outputOf[row]);

  // From here, outputOf says for each old output which new output it becomes,
  // or -1.
  std::fill(outputOf.begin(), outputOf.end(), -1);
  for (int32_t output = 0; output < outputs; ++output)
    outputOf[outputFrom[output]] = output;
  auto follow = [&](int32_t to, int32_t last) {
    while (to < outputs && outputFrom[to] != last) {
      int32_t from = outputFrom[to];
      outputMoves.push_back({from, to});
      outputFrom[to] = to;
      to = from;
    }
    return to;
  };
  for (int32_t output = 0; output < outputs; ++output)
    if (outputOf[output] < 0)
      follow(output, spareSlot);
  for (int32_t output = 0; output < outputs; ++output) {
    if (outputFrom[output] == output)
      continue;
    outputMoves.push_back({output, spareSlot});
    int32_t last = follow(output, output);
    outputMoves.push_back({spareSlot, last});
    outputFrom[last] = last;
  }
}
