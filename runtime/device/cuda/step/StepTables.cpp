//===- StepTables.cpp - the tables of a step's rows -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/step/StepTables.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

namespace sluice::cuda {

static constexpr int64_t alignedWords = 64;
static constexpr int64_t requestWords = sizeof(OutputRequest) / sizeof(int32_t);

TableLayout::TableLayout(const CudaExecutorOptions &limits, int64_t rows)
    : rows(rows), mirrors(rows * (CachePages::pageTokens - 1)),
      sequences(limits.sequences),
      pagesPerSequence(CachePages::pagesFor(limits.contextLength)) {
  static_assert(Rows % alignedWords == 0);
  int64_t at = CountsEnd;
  auto take = [&](int64_t count) {
    int64_t begin = at;
    at += (count + alignedWords - 1) / alignedWords * alignedWords;
    return begin;
  };
  tokens = take(rows);
  positions = take(rows);
  sequenceOf = take(rows);
  origins = take(rows);
  wantsOutput = take(rows);
  spanPlaces = take(rows);
  departedAt = take(rows);
  const int64_t outputs = std::min(rows, limits.outputs);
  outputRows = take(outputs);
  outputSources = take(outputs);
  requests = take(outputs * requestWords);
  pages = take(sequences * pagesPerSequence);
  mirrorRows = take(mirrors);
  mirrorSequences = take(mirrors);
  words = at;
}

StepTables::StepTables(const CudaExecutorOptions &limits, int32_t *block)
    : block(block), sequenceNumbers(std::bit_ceil(
                        static_cast<size_t>(2 * limits.sequences))) {
  std::fill(block, block + TableLayout(limits, limits.rows).words, 0);
  longRows.reserve(static_cast<size_t>(limits.rows));
  runs.reserve(static_cast<size_t>(limits.rows));
}

/// Returns the number of the sequence in this step. Enters its pages when it is
/// new.
Expected<int32_t> StepTables::numberOf(SequenceId sequence,
                                       const device::StepInput &input,
                                       const TableLayout &layout) {
  constexpr uint64_t spread = 0x9E3779B97F4A7C15; // 2^64 by the golden ratio
  size_t mask = sequenceNumbers.size() - 1;
  size_t at =
      static_cast<size_t>((static_cast<uint64_t>(sequence) * spread) >> 32) &
      mask;
  while (sequenceNumbers[at].step == step &&
         sequenceNumbers[at].sequence != sequence)
    at = (at + 1) & mask;
  if (sequenceNumbers[at].step == step)
    return sequenceNumbers[at].number;
  if (sequencesUsed == layout.sequences)
    return failure("step: rows of more than ", layout.sequences, " sequences");
  ++sequencesUsed;
  std::span<const int32_t> pages = input.pages->pages(sequence);
  // Each sequence takes at least one entry, so that no two have the same
  // number.
  auto count =
      std::clamp<int64_t>(std::ssize(pages), 1, layout.pagesPerSequence);
  std::copy_n(pages.data(), std::min(count, std::ssize(pages)),
              block + layout.pages + pagesUsed);
  auto number =
      static_cast<int32_t>(std::exchange(pagesUsed, pagesUsed + count));
  sequenceNumbers[at] = {step, sequence, number};
  return number;
}

Status StepTables::fill(const device::StepInput &input,
                        const TableLayout &layout, const Attention &attention) {
  const StepBatch &batch = *input.batch;
  if (std::ssize(batch.mirrors()) > layout.mirrors)
    return failure("step: ", batch.mirrors().size(), " mirrors of ",
                   batch.rows(), " rows");
  ++step;
  sequencesUsed = pagesUsed = 0;
  block[TableLayout::Rows] = static_cast<int32_t>(batch.rows());
  block[TableLayout::Outputs] = static_cast<int32_t>(batch.outputs());
  block[TableLayout::Mirrors] = static_cast<int32_t>(batch.mirrors().size());
  block[TableLayout::Moves] = 0;
  SLUICE_RETURN_IF_ERROR(fillRows(input, layout));
  placeSpans(batch, layout, attention);
  SLUICE_RETURN_IF_ERROR(fillMirrors(input, layout));
  const auto mirrors = std::ssize(batch.mirrors());
  parts = {
      Part{TableLayout::Rows, layout.pages + pagesUsed - TableLayout::Rows},
      Part{layout.mirrorRows, mirrors}, Part{layout.mirrorSequences, mirrors}};
  return {};
}

Status StepTables::fillRows(const device::StepInput &input,
                            const TableLayout &layout) {
  const StepBatch &batch = *input.batch;
  const int64_t rows = batch.rows();
  std::copy_n(batch.tokens().data(), rows, block + layout.tokens);
  std::copy_n(batch.positions().data(), rows, block + layout.positions);
  std::iota(block + layout.origins, block + layout.origins + rows, 0);
  std::fill_n(block + layout.wantsOutput, rows, 0);
  std::fill_n(block + layout.departedAt, rows, 0);
  for (int64_t output = 0; output < batch.outputs(); ++output) {
    int32_t row = batch.outputRows()[output];
    block[layout.outputRows + output] = row;
    block[layout.outputSources + output] = static_cast<int32_t>(output);
    block[layout.wantsOutput + row] = static_cast<int32_t>(output) + 1;
    const OutputRequest request = input.requests.empty()
                                      ? OutputRequest()
                                      : input.requests[size_t(output)];
    std::memcpy(block + layout.requests + output * requestWords, &request,
                sizeof(request));
  }
  for (int64_t row = 0; row < rows; ++row) {
    Expected<int32_t> number = numberOf(batch.sequences()[row], input, layout);
    if (!number)
      return number.status();
    block[layout.sequenceOf + row] = *number;
  }
  return {};
}

void StepTables::placeSpans(const StepBatch &batch, const TableLayout &layout,
                            const Attention &attention) {
  std::span<const int32_t> positions = batch.positions();
  runs.clear();
  longRows.clear();
  int64_t wanted = 0;
  for (int64_t row = 0; row < batch.rows(); ++row) {
    bool goesOn = row > 0 &&
                  batch.sequences()[row] == batch.sequences()[row - 1] &&
                  positions[row] == positions[row - 1] + 1;
    runs.push_back(goesOn ? runs.back() : static_cast<int32_t>(row));
  }
  for (int64_t row = 0; row < batch.rows(); ++row) {
    block[layout.spanPlaces + row] = -1;
    if (spansOf(positions[row]) == 1 ||
        isInTiles(batch, row, attention.tileRows))
      continue;
    longRows.push_back(static_cast<int32_t>(row));
    wanted += spansOf(positions[row]);
  }
  if (wanted > attention.places)
    std::sort(longRows.begin(), longRows.end(), [&](int32_t a, int32_t b) {
      return std::pair(-positions[a], a) < std::pair(-positions[b], b);
    });
  int64_t next = 0;
  for (int32_t row : longRows) {
    if (next + spansOf(positions[row]) > attention.places)
      continue;
    block[layout.spanPlaces + row] = static_cast<int32_t>(next);
    next += spansOf(positions[row]);
  }
}

/// Returns whether, for each of these sizes, the row is in a whole tile of its
/// run (isChunk of Attend.cuh). False if there are no sizes.
bool StepTables::isInTiles(const StepBatch &batch, int64_t row,
                           std::span<const int32_t> tileRows) const {
  for (int64_t size : tileRows) {
    int64_t first = row / size * size;
    if (first + size > batch.rows() || runs[size_t(first + size - 1)] > first)
      return false;
  }
  return !tileRows.empty();
}

Status StepTables::fillMirrors(const device::StepInput &input,
                               const TableLayout &layout) {
  std::span<const Mirror> mirrors = input.batch->mirrors();
  for (size_t i = 0; i < mirrors.size(); ++i) {
    Expected<int32_t> number = numberOf(mirrors[i].sequence, input, layout);
    if (!number)
      return number.status();
    block[layout.mirrorRows + int64_t(i)] = mirrors[i].row;
    block[layout.mirrorSequences + int64_t(i)] = *number;
  }
  return {};
}

void StepTables::setCopies(std::span<const PageCopy> copies) {
  copyCount = std::ssize(copies);
  block[TableLayout::Copies] = static_cast<int32_t>(copyCount);
  int32_t *to = block + TableLayout::CopyPairs;
  for (PageCopy copy : copies) {
    *to++ = copy.from;
    *to++ = copy.to;
  }
}

} // namespace sluice::cuda
