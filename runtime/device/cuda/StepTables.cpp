//===- StepTables.cpp - what a step is told of its rows -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/StepTables.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

namespace sluice::cuda {

namespace {
constexpr int64_t alignedWords = 64;
constexpr int64_t copiesAtATime = 512;
} // namespace

TableLayout::TableLayout(const ExecutorLimits &limits)
    : rows(limits.rows), mirrors(limits.rows * (CachePages::pageTokens - 1)),
      copies(copiesAtATime), sequences(limits.sequences),
      pagesPerSequence(CachePages::pagesFor(limits.contextLength)) {
  int64_t at = CountsEnd;
  auto take = [&](int64_t count) {
    int64_t begin = at;
    at += (count + alignedWords - 1) / alignedWords * alignedWords;
    return begin;
  };
  positions = take(rows);
  sequenceOf = take(rows);
  origins = take(rows);
  wantsOutput = take(rows);
  leftAt = take(rows);
  outputRows = take(limits.outputs);
  mirrorRows = take(mirrors);
  mirrorSequences = take(mirrors);
  copyPairs = take(2 * copies);
  pages = take(sequences * pagesPerSequence);
  words = at;
}

StepTables::StepTables(const TableLayout &layout, int32_t *block)
    : layout(layout), block(block),
      places(std::bit_ceil(static_cast<size_t>(2 * layout.sequences))) {
  std::fill(block, block + layout.words, 0);
}

/// The number of the sequence in this step; its pages are entered when it is
/// new.
Expected<int32_t> StepTables::numberOf(SequenceId sequence,
                                       const device::StepInput &input) {
  constexpr uint64_t spread = 0x9E3779B97F4A7C15; // 2^64 by the golden ratio
  size_t mask = places.size() - 1;
  size_t at =
      static_cast<size_t>((static_cast<uint64_t>(sequence) * spread) >> 32) &
      mask;
  while (places[at].step == step && places[at].sequence != sequence)
    at = (at + 1) & mask;
  if (places[at].step == step)
    return places[at].number;
  if (sequencesUsed == layout.sequences)
    return failure("step: rows of more than ", layout.sequences, " sequences");
  std::span<const int32_t> pages = input.pages->pages(sequence);
  auto count = std::min(std::ssize(pages),
                        static_cast<std::ptrdiff_t>(layout.pagesPerSequence));
  std::copy_n(pages.data(), count,
              block + layout.pages + sequencesUsed * layout.pagesPerSequence);
  places[at] = {step, sequence, sequencesUsed};
  return sequencesUsed++;
}

Status StepTables::fill(const device::StepInput &input) {
  const StepBatch &batch = *input.batch;
  std::span<const Mirror> mirrors = batch.mirrors();
  if (std::ssize(mirrors) > layout.mirrors)
    return failure("step: ", mirrors.size(), " mirrors of ", batch.rows(),
                   " rows");
  ++step;
  sequencesUsed = 0;
  const int64_t rows = batch.rows();
  block[TableLayout::Rows] = static_cast<int32_t>(rows);
  block[TableLayout::Outputs] = static_cast<int32_t>(batch.outputs());
  block[TableLayout::Mirrors] = static_cast<int32_t>(mirrors.size());
  block[TableLayout::Copies] = block[TableLayout::Moves] = 0;
  std::copy_n(batch.positions().data(), rows, block + layout.positions);
  std::iota(block + layout.origins, block + layout.origins + rows, 0);
  std::fill_n(block + layout.wantsOutput, rows, 0);
  std::fill_n(block + layout.leftAt, rows, 0);
  for (int64_t output = 0; output < batch.outputs(); ++output) {
    int32_t row = batch.outputRows()[output];
    block[layout.outputRows + output] = row;
    block[layout.wantsOutput + row] = 1;
  }
  for (int64_t row = 0; row < rows; ++row) {
    Expected<int32_t> number = numberOf(batch.sequences()[row], input);
    if (!number)
      return number.status();
    block[layout.sequenceOf + row] = *number;
  }
  for (size_t i = 0; i < mirrors.size(); ++i) {
    Expected<int32_t> number = numberOf(mirrors[i].sequence, input);
    if (!number)
      return number.status();
    block[layout.mirrorRows + int64_t(i)] = mirrors[i].row;
    block[layout.mirrorSequences + int64_t(i)] = *number;
  }
  pagesUsed = sequencesUsed * layout.pagesPerSequence;
  return {};
}

void StepTables::setCopies(std::span<const PageCopy> copies) {
  block[TableLayout::Copies] = static_cast<int32_t>(copies.size());
  int32_t *to = block + layout.copyPairs;
  for (PageCopy copy : copies) {
    *to++ = copy.from;
    *to++ = copy.to;
  }
}

} // namespace sluice::cuda
