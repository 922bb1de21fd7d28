//===- StepBatch.cpp - the row table of a step ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StepBatch.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

namespace sluice {

StepBatch::StepBatch(int64_t rowLimit, int64_t outputLimit, int64_t mirrorLimit)
    : maxRows(rowLimit), maxOutputs(std::min(outputLimit, rowLimit)),
      maxMirrors(mirrorLimit) {
  assert(rowLimit >= 1 && outputLimit >= 0 && mirrorLimit >= 0);
  tokenOf.reserve(static_cast<size_t>(maxRows));
  positionOf.reserve(static_cast<size_t>(maxRows));
  sequenceOf.reserve(static_cast<size_t>(maxRows));
  wantsOf.reserve(static_cast<size_t>(maxRows));
  outputRow.reserve(static_cast<size_t>(maxOutputs));
  mirrored.reserve(static_cast<size_t>(maxMirrors));
  rowNow.resize(static_cast<size_t>(maxMirrors > 0 ? maxRows : 0));
  sequenceSlots.resize(std::bit_ceil(static_cast<size_t>(maxRows) * 2));
}

/// Returns the slot of the sequence, or a free one for it.
StepBatch::SequenceSlot &StepBatch::slotOf(SequenceId sequence) {
  constexpr uint64_t spread = 0x9E3779B97F4A7C15; // 2^64 by the golden ratio
  size_t mask = sequenceSlots.size() - 1;
  size_t at =
      static_cast<size_t>((static_cast<uint64_t>(sequence) * spread) >> 32) &
      mask;
  while (sequenceSlots[at].clears == clears &&
         sequenceSlots[at].sequence != sequence)
    at = (at + 1) & mask;
  return sequenceSlots[at];
}

Status StepBatch::add(SequenceId sequence, int64_t position, int32_t token,
                      bool wantsLogits) {
  assert(!compacted && "clear() comes first");
  if (freeRows() == 0)
    return failure("step: more than ", maxRows, " rows");
  if (wantsLogits && freeOutputs() == 0)
    return failure("step: more than ", maxOutputs, " rows ask for logits");
  if (sequence < 0)
    return failure("step: sequence ", sequence, " is negative");
  if (position < 0 || position > std::numeric_limits<int32_t>::max())
    return failure("step: position ", position, " is out of range");
  if (token < 0)
    return failure("step: token ", token, " is negative");
  if (!sequenceOf.empty() && sequenceOf.back() == sequence) {
    if (position != int64_t{positionOf.back()} + 1)
      return failure("step: sequence ", sequence, ": position ", position,
                     " does not follow ", positionOf.back());
  } else {
    SequenceSlot &place = slotOf(sequence);
    if (place.clears == clears)
      return failure("step: the rows of sequence ", sequence,
                     " do not lie together");
    place = {sequence, clears};
  }
  if (wantsLogits)
    outputRow.push_back(static_cast<int32_t>(rows()));
  tokenOf.push_back(token);
  positionOf.push_back(static_cast<int32_t>(position));
  sequenceOf.push_back(sequence);
  wantsOf.push_back(wantsLogits);
  return {};
}

Status StepBatch::addMirror(int64_t row, SequenceId sequence) {
  assert(!compacted && "clear() comes first");
  if (static_cast<int64_t>(mirrored.size()) == maxMirrors)
    return failure("step: more than ", maxMirrors, " mirrors");
  if (row < 0 || row >= rows())
    return failure("step: a mirror of row ", row, ", of ", rows());
  if (!mirrored.empty() && row < mirrored.back().row)
    return failure("step: a mirror of row ", row, " after one of row ",
                   mirrored.back().row);
  if (sequence < 0 || sequence == sequenceOf[row])
    return failure("step: row ", row, " of sequence ", sequenceOf[row],
                   " cannot be mirrored in sequence ", sequence);
  mirrored.push_back({static_cast<int32_t>(row), sequence});
  return {};
}

void StepBatch::keep(std::span<const uint8_t> alive,
                     std::span<const RowMove> moves, int64_t remaining) {
  assert(static_cast<int64_t>(alive.size()) == rows() && remaining <= rows());
  compacted = true;
  if (!mirrored.empty()) {
    std::iota(rowNow.begin(), rowNow.begin() + rows(), 0);
    for (RowMove move : moves)
      rowNow[move.from] = move.to;
    std::erase_if(mirrored, [&](Mirror mirror) { return !alive[mirror.row]; });
    for (Mirror &mirror : mirrored)
      mirror.row = rowNow[mirror.row];
    std::sort(mirrored.begin(), mirrored.end(), [](Mirror a, Mirror b) {
      return std::pair(a.row, a.sequence) < std::pair(b.row, b.sequence);
    });
  }
  for (RowMove move : moves) {
    tokenOf[move.to] = tokenOf[move.from];
    positionOf[move.to] = positionOf[move.from];
    sequenceOf[move.to] = sequenceOf[move.from];
    wantsOf[move.to] = wantsOf[move.from];
  }
  tokenOf.resize(static_cast<size_t>(remaining));
  positionOf.resize(static_cast<size_t>(remaining));
  sequenceOf.resize(static_cast<size_t>(remaining));
  wantsOf.resize(static_cast<size_t>(remaining));
  outputRow.clear();
  for (int64_t row = 0; row < remaining; ++row)
    if (wantsOf[row])
      outputRow.push_back(static_cast<int32_t>(row));
}

void StepBatch::clear() {
  tokenOf.clear();
  positionOf.clear();
  sequenceOf.clear();
  wantsOf.clear();
  outputRow.clear();
  mirrored.clear();
  compacted = false;
  ++clears;
}

} // namespace sluice
