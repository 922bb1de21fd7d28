//===- CacheContents.cpp - checks what caches would hold ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/CacheContents.h"

#include "runtime/oracle/Oracle.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::sim;

CacheContents::CacheContents(int64_t pages)
    : slots(static_cast<size_t>(pages * CachePages::pageTokens)) {}

CacheContents::Content &CacheContents::slot(const CachePages &pages,
                                            SequenceId sequence,
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
    slot(pages, batch.sequences()[row], batch.positions()[row]) = {};
  for (const Mirror &mirror : batch.mirrors())
    slot(pages, mirror.sequence, batch.positions()[mirror.row]) = {};
}

/// Fills `path` with the expected content at each position of the row's path.
/// Equal tokens of two requests are different content, unless one request
/// shares them from the other as its prefix.
void CacheContents::pathOf(Stage &stage, int64_t row) {
  const OpenRequest &request = stage.requestOf(row);
  PathKey owner(static_cast<uint64_t>(request.firstNode));
  owner.add(request.request);
  PathKey key(0);
  path.clear();
  for (int32_t token : stage.promptOf(row))
    path.push_back({key.add(token).value(), owner.value()});
  for (int32_t token : stage.outputOf(row))
    path.push_back({key.add(token).value(), owner.value()});
}

Status CacheContents::endStep(Stage &stage, const CachePages &pages) {
  const StepBatch &batch = stage.batch();
  auto mirror = batch.mirrors().begin();
  for (int64_t row = 0; row < batch.rows(); ++row) {
    pathOf(stage, row);
    int64_t position = batch.positions()[row];
    slot(pages, batch.sequences()[row], position) = path[position];
    for (; mirror != batch.mirrors().end() && mirror->row == row; ++mirror)
      slot(pages, mirror->sequence, position) = path[position];
  }
  for (int64_t row = 0; row < batch.rows(); ++row) {
    pathOf(stage, row);
    int64_t prefix = std::ssize(stage.requestOf(row).prefix);
    SequenceId sequence = batch.sequences()[row];
    for (int64_t position = 0; position <= batch.positions()[row]; ++position) {
      const Content &found = slot(pages, sequence, position);
      if (found.path == path[position].path &&
          (position < prefix || found.owner == path[position].owner))
        continue;
      return failure("request ", stage.rows()[row].request, ", row ",
                     stage.rows()[row].node, " at position ",
                     batch.positions()[row], ": position ", position,
                     " of its cache is not its path's");
    }
  }
  return {};
}
