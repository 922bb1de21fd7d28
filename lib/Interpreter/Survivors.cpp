//===- Survivors.cpp - the rows that a checkpoint leaves ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Survivors.h"

#include "runtime/core/RowMoves.h"

#include <algorithm>
#include <numeric>

using namespace sluice;
using namespace sluice::interpreter;

Survivors sluice::interpreter::findSurvivors(const StepBatch &before,
                                             Environment &environment) {
  std::vector<uint8_t> alive(before.rows(), 1);
  if (environment.alive)
    alive = environment.alive(before);
  std::vector<RowMove> moves;
  int64_t rows = planCompaction(alive, moves);
  environment.batches.push_back(std::make_unique<StepBatch>(before));
  environment.batches.back()->keep(alive, moves, rows);

  std::vector<int64_t> kept(before.rows());
  std::iota(kept.begin(), kept.end(), 0);
  for (RowMove move : moves)
    kept[move.to] = move.from;
  kept.resize(rows);
  return {&before, environment.batches.back().get(), std::move(kept)};
}

/// Returns the number of the old record that becomes each new one.
static std::vector<int64_t> keptRecords(const Survivors &survivors,
                                        bool isOfOutputs) {
  if (!isOfOutputs)
    return survivors.rows;
  std::vector<int64_t> kept;
  for (int32_t row : survivors.after->outputRows()) {
    auto outputs = survivors.before->outputRows();
    auto place = std::ranges::find(outputs, survivors.rows[row]);
    kept.push_back(place - outputs.begin());
  }
  return kept;
}

RowData sluice::interpreter::keepRecords(const RowData &records,
                                         const Survivors &survivors,
                                         bool isOfOutputs) {
  std::vector<int64_t> kept = keptRecords(survivors, isOfOutputs);
  RowData left(static_cast<int64_t>(kept.size()), records.width());
  for (size_t r = 0; r < kept.size(); ++r)
    std::ranges::copy(records.row(kept[r]),
                      left.row(static_cast<int64_t>(r)).begin());
  return left;
}
