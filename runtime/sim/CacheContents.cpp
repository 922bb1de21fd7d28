//===- CacheContents.cpp - what would lie in a cache ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/CacheContents.h"

#include "runtime/sim/Oracle.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::sim;

static constexpr uint64_t nothing = 0;

CacheContents::CacheContents(int64_t pages)
    : slots(static_cast<size_t>(pages * CachePages::pageTokens), nothing) {}

uint64_t &CacheContents::slot(const CachePages &pages, SequenceId sequence,
                              int64_t position) {
  int64_t page = pages.pages(sequence)[position / CachePages::pageTokens];
  return slots[page * CachePages::pageTokens +
               position % CachePages::pageTokens];
}

void CacheContents::beginStep(const Stage &stage, const CachePages &pages) {
  for (const PageCopy &copy : stage.pageCopies())
    std::copy_n(slots.begin() + copy.from * CachePages::pageTokens,
                CachePages::pageTokens,
                slots.begin() + copy.to * CachePages::pageTokens);
  const StepBatch &batch = stage.batch();
  for (int64_t row = 0; row < batch.rows(); ++row)
    slot(pages, batch.sequences()[row], batch.positions()[row]) = nothing;
  for (const Mirror &mirror : batch.mirrors())
    slot(pages, mirror.sequence, batch.positions()[mirror.row]) = nothing;
}

/// keys[p] stands for the row's path up to position p. Paths of two requests
/// differ even where their tokens do not: they share no pages.
void CacheContents::keysOf(Stage &stage, int64_t row) {
  const OpenRequest &request = stage.requestOf(row);
  PathKey key(static_cast<uint64_t>(request.firstNode));
  key.add(request.request);
  keys.clear();
  for (int32_t token : stage.promptOf(row))
    keys.push_back(key.add(token).value());
  for (int32_t token : stage.outputOf(row))
    keys.push_back(key.add(token).value());
}

Status CacheContents::endStep(Stage &stage, const CachePages &pages) {
  const StepBatch &batch = stage.batch();
  for (int64_t row = 0; row < batch.rows(); ++row) {
    keysOf(stage, row);
    int64_t position = batch.positions()[row];
    uint64_t key = keys[position];
    slot(pages, batch.sequences()[row], position) = key;
    for (const Mirror &mirror : batch.mirrors())
      if (mirror.row == row)
        slot(pages, mirror.sequence, position) = key;
  }
  for (int64_t row = 0; row < batch.rows(); ++row) {
    keysOf(stage, row);
    SequenceId sequence = batch.sequences()[row];
    for (int64_t position = 0; position <= batch.positions()[row]; ++position)
      if (slot(pages, sequence, position) != keys[position])
        return failure("request ", stage.rows()[row].request, ", row ",
                       stage.rows()[row].node, " at position ",
                       batch.positions()[row], ": position ", position,
                       " of its cache is not its path's");
  }
  return {};
}
