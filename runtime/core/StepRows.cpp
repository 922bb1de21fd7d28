//===- StepRows.cpp - builds a stage's step from rows of frames -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StepRows.h"

#include <algorithm>
#include <utility>

namespace sluice {

namespace {

/// A fork copies at most so many rows of the step that forks it.
constexpr int64_t mirrorsPerRow = CachePages::pageTokens - 1;

} // namespace

StepRows::StepRows(int64_t rows, int64_t outputs, int64_t sequences,
                   int32_t lastToken)
    : limit(rows), outputLimit(std::min(rows, outputs)), lastToken(lastToken),
      groups(static_cast<size_t>(sequences)),
      steps(rows, outputLimit, rows * mirrorsPerRow) {
  size_t count = static_cast<size_t>(rows);
  admitted.reserve(count);
  rowsSoFar.reserve(count);
  mirrors.reserve(count * mirrorsPerRow);
  copies.reserve(count);
  rowOf.reserve(count);
  originOf.reserve(count);
  sequenceOf.reserve(count);
  moves.reserve(count);
}

void StepRows::clear() {
  ++step;
  outputs = 0;
  admitted.clear();
  rowsSoFar.clear();
  mirrors.clear();
  copies.clear();
  steps.clear();
  rowOf.clear();
  originOf.clear();
}

int32_t StepRows::add(const Row &row, RowOrigin origin, SequenceId sequence) {
  assert(hasRoom(row.wantsOutput));
  Group &group = groups[sequence];
  if (group.step != step) {
    group = {step, static_cast<int32_t>(rowsSoFar.size())};
    rowsSoFar.push_back(0);
  }
  ++rowsSoFar[group.ordinal];
  outputs += row.wantsOutput;
  admitted.push_back({row, origin, sequence, 0});
  return static_cast<int32_t>(admitted.size()) - 1;
}

bool StepRows::merge(int32_t index, const Row &again) {
  Row &row = admitted[index].row;
  bool takesOutput = again.wantsOutput && !row.wantsOutput;
  if (takesOutput && outputs == outputLimit)
    return false;
  outputs += takesOutput;
  row.wantsOutput |= again.wantsOutput;
  row.certain |= again.certain;
  return true;
}

Status StepRows::arrange() {
  // Turns the number of rows of each group into the index where it begins.
  int32_t begin = 0;
  for (int32_t &rows : rowsSoFar)
    begin += std::exchange(rows, begin);
  rowOf.resize(admitted.size());
  originOf.resize(admitted.size());
  sequenceOf.resize(admitted.size());
  std::vector<int32_t> &nextRow = rowsSoFar;
  for (size_t index = 0; index < admitted.size(); ++index) {
    Admitted &row = admitted[index];
    row.batchRow = nextRow[groups[row.sequence].ordinal]++;
    rowOf[row.batchRow] = row.row;
    originOf[row.batchRow] = row.origin;
    sequenceOf[row.batchRow] = row.sequence;
  }
  for (size_t row = 0; row < rowOf.size(); ++row) {
    const Row &added = rowOf[row];
    SLUICE_RETURN_IF_ERROR(steps.add(sequenceOf[row], added.position,
                                     std::min(added.token, lastToken),
                                     added.wantsOutput));
  }
  for (Mirror &mirror : mirrors)
    mirror.row = admitted[mirror.row].batchRow;
  std::sort(mirrors.begin(), mirrors.end(), [](Mirror a, Mirror b) {
    return std::pair(a.row, a.sequence) < std::pair(b.row, b.sequence);
  });
  for (Mirror mirror : mirrors)
    SLUICE_RETURN_IF_ERROR(steps.addMirror(mirror.row, mirror.sequence));
  return {};
}

std::span<const RowMove> StepRows::keep(std::span<const uint8_t> alive) {
  int64_t remaining = planCompaction(alive, moves);
  steps.keep(alive, moves, remaining);
  for (RowMove move : moves) {
    rowOf[move.to] = rowOf[move.from];
    originOf[move.to] = originOf[move.from];
  }
  rowOf.resize(static_cast<size_t>(remaining));
  originOf.resize(static_cast<size_t>(remaining));
  return moves;
}

} // namespace sluice
