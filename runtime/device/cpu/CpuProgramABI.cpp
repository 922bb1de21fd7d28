//===- CpuProgramABI.cpp - what emitted code calls ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/CpuProgramABI.h"
#include "runtime/device/cpu/Step.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

using namespace sluice;
using namespace sluice::cpu;

static_assert(SLUICE_QUANTIZED_ROW_FLOATS(64) * sizeof(float) ==
              quantizedRowBytes(64));

/// One thread's share of the moves: some of the columns, so that moves that
/// build on each other stay in order.
static void makeMoves(std::span<const RowMove> moves, float *x, int64_t floats,
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

void sluice_barrier(SluiceStep *step, int64_t thread) { step->barrier(thread); }

int64_t sluice_checkpoint(SluiceStep *step, int64_t thread) {
  step->barrier(thread);
  bool over = !step->broken.ok();
  bool mayLeave = !over && step->input.checkpoints;
  if (mayLeave && thread == 0)
    step->passCheckpoint();
  // In a group, thread 0 may come to a collective next, and find it broken
  // before the others have looked.
  if (mayLeave || step->group)
    step->barrier(thread);
  return over ? 0 : step->input.batch->rows();
}

int64_t sluice_outputs(SluiceStep *step) {
  return step->input.batch->outputs();
}

void sluice_move_rows(SluiceStep *step, float *x, int64_t floats,
                      int64_t thread, int64_t threads) {
  makeMoves(step->rowMoves, x, floats, thread, threads);
}

void sluice_move_outputs(SluiceStep *step, float *x, int64_t floats,
                         int64_t thread, int64_t threads) {
  makeMoves(step->outputMoves, x, floats, thread, threads);
}

void sluice_receive_rows(SluiceStep *step, float *h, int64_t cols,
                         int64_t rowBegin, int64_t rowEnd) {
  const device::StepInput &input = step->input;
  for (int64_t row = rowBegin; row < rowEnd; ++row)
    decodeActivations(input.incomingFormat, input.incoming[row], h + row * cols,
                      cols);
}

void sluice_send_rows(SluiceStep *step, const float *h, int64_t cols,
                      int64_t rowBegin, int64_t rowEnd) {
  const device::StepInput &input = step->input;
  int64_t bytes = cols * activationBytes(input.outgoingFormat);
  assert(static_cast<size_t>(rowEnd * bytes) <= input.outgoing.size());
  encodeActivations(input.outgoingFormat, h + rowBegin * cols,
                    input.outgoing.data() + rowBegin * bytes,
                    (rowEnd - rowBegin) * cols);
}

void sluice_embed(SluiceStep *step, int64_t weight, int32_t byPosition,
                  float *out, int64_t rowBegin, int64_t rowEnd) {
  const EmbeddingTable &table = std::get<EmbeddingTable>(step->weights[weight]);
  std::span<const int32_t> index =
      byPosition ? step->input.batch->positions() : step->input.batch->tokens();
  const FormatInfo &info = formatInfo(table.format);
  int64_t bytes = table.cols / info.blockElements * info.blockBytes;
  for (int64_t row = rowBegin; row < rowEnd; ++row) {
    assert(index[row] >= 0 && index[row] < table.rows);
    dequantizeRow(table.format, table.data + index[row] * bytes,
                  out + row * table.cols, table.cols);
  }
}

const float *sluice_vector(SluiceStep *step, int64_t weight) {
  return std::get<std::span<const float>>(step->weights[weight]).data();
}

void sluice_quantize_rows(SluiceStep *step, const float *x, void *q,
                          int64_t cols, int64_t rowBegin, int64_t rowEnd) {
  quantizeRows(*step->linear, x, q, cols, rowBegin, rowEnd);
}

void sluice_linear(SluiceStep *step, int64_t weight, const void *x,
                   const float *bias, float *y, int64_t colBegin,
                   int64_t colEnd, int64_t rows, int64_t thread,
                   int64_t threads) {
  PackedWeight columns = columnsOf(
      std::get<PackedWeight>(step->weights[weight]), colBegin, colEnd);
  linear(*step->linear, columns, x, bias ? bias + colBegin : nullptr, y, rows,
         {thread, threads, step->scratchOf(thread), step->tickets,
          step->nextLoop(thread)});
}

void sluice_rope_table(SluiceStep *step, int64_t table, float *cosSin,
                       int64_t rowBegin, int64_t rowEnd) {
  const device::RopeTable &rope = step->ropeTables[table];
  int64_t pairs = static_cast<int64_t>(rope.inverseFrequencies.size());
  for (int64_t row = rowBegin; row < rowEnd; ++row) {
    float position = static_cast<float>(step->input.batch->positions()[row]);
    float *cosines = cosSin + row * 2 * pairs;
    float *sines = cosines + pairs;
    for (int64_t i = 0; i < pairs; ++i) {
      float angle = position * rope.inverseFrequencies[i];
      cosines[i] = std::cos(angle) * rope.attentionFactor;
      sines[i] = std::sin(angle) * rope.attentionFactor;
    }
  }
}

void sluice_append(SluiceStep *step, int64_t cacheLayer, const float *k,
                   const float *v, int64_t rows, int64_t thread,
                   int64_t threads) {
  LayerCache &cache = step->caches[cacheLayer];
  int64_t kvHeads = cache.layout().kvHeads;
  int64_t headDim = cache.layout().headDim;
  const StepBatch &batch = *step->input.batch;
  auto store = [&](SequenceId sequence, int64_t row, int64_t kvHead) {
    int64_t position = batch.positions()[row];
    std::span<const int32_t> pages = step->input.pages->pages(sequence);
    int64_t from = (row * kvHeads + kvHead) * headDim;
    cache.store(pages[position / CachePages::pageTokens],
                position % CachePages::pageTokens, kvHead, k + from, v + from);
  };
  // k[row][kvHead][headDim]: the threads share the pairs of a kv head and a
  // row, and then of a kv head and a mirror.
  std::span<const Mirror> mirrors = batch.mirrors();
  int64_t pairs = (rows + static_cast<int64_t>(mirrors.size())) * kvHeads;
  int64_t begin = pairs * thread / threads;
  int64_t end = pairs * (thread + 1) / threads;
  for (int64_t pair = begin; pair < end; ++pair) {
    int64_t place = pair / kvHeads, kvHead = pair % kvHeads;
    if (place < rows)
      store(batch.sequences()[place], place, kvHead);
    else
      store(mirrors[place - rows].sequence, mirrors[place - rows].row, kvHead);
  }
}

void sluice_attend(SluiceStep *step, int64_t cacheLayer, const float *q,
                   const float *k, const float *v, float *out,
                   const SluiceAttention *params, int64_t rows, int64_t thread,
                   int64_t threads) {
  const device::StepInput &input = step->input;
  const LayerCache &cache = step->caches[cacheLayer];
  assert(params->kvHeads == cache.layout().kvHeads &&
         params->headDim == cache.layout().headDim &&
         params->heads % params->kvHeads == 0);
  float *scratch = step->scratchOf(thread);
  int64_t rowFloats = params->heads * params->headDim;
  uint32_t loop = step->nextLoop(thread);
  AttentionUnits units(step->runs, *params, threads);
  int64_t number;
  while ((number = step->tickets.take(loop, units.count())) != Tickets::none) {
    UnitPlace place = units.place(number);
    AttentionUnit unit = {};
    unit.params = params;
    setCache(unit, cache, place.kvHead);
    unit.pages =
        input.pages->pages(input.batch->sequences()[place.rowBegin]).data();
    unit.positions = input.batch->positions().data() + place.rowBegin;
    unit.rows = place.rows;
    unit.headBegin = place.headBegin;
    unit.headCount = place.headCount;
    unit.q = q + place.rowBegin * rowFloats;
    unit.out = out + place.rowBegin * rowFloats;
    step->attention->attend(unit, scratch);
  }
}

void sluice_select_outputs(SluiceStep *step, const float *h, float *out,
                           int64_t cols, int64_t outBegin, int64_t outEnd) {
  for (int64_t output = outBegin; output < outEnd; ++output)
    std::memcpy(out + output * cols,
                h + step->input.batch->outputRows()[output] * cols,
                static_cast<size_t>(cols) * sizeof(float));
}

/// Runs thread 0's part of a collective, unless an earlier one has failed.
template <typename Exchange>
static void exchange(SluiceStep *step, int64_t thread, Exchange run) {
  assert(step->group && "the executor of a member knows its group");
  if (thread == 0 && step->broken.ok())
    step->broken = run(*step->group);
}

void sluice_all_reduce(SluiceStep *step, const float *x, float *sum,
                       float *scratch, int64_t cols, int64_t rows,
                       int64_t thread) {
  exchange(step, thread, [&](comm::Collectives &group) {
    auto count = static_cast<size_t>(rows * cols);
    return group.allReduce(
        {x, count}, {sum, count},
        {scratch, count * static_cast<size_t>(group.members())});
  });
}

void sluice_all_gather(SluiceStep *step, const float *x, float *all,
                       float *scratch, int64_t partCols, int64_t cols,
                       int64_t rows, int64_t thread) {
  exchange(step, thread, [&](comm::Collectives &group) {
    auto count = static_cast<size_t>(rows * partCols);
    return group.allGather(
        {x, count}, partCols, {all, static_cast<size_t>(rows * cols)}, cols,
        {scratch, count * static_cast<size_t>(group.members())});
  });
}
