//===- StubRuntime.cpp - a naive runtime for emitted steps ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StubRuntime.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace sluice::test;

//===----------------------------------------------------------------------===//
// Quantised rows: for each 32 values a scale, then 32 bytes
//===----------------------------------------------------------------------===//

static constexpr int64_t blockSize = 32;
static constexpr int64_t recordFloats = SLUICE_QUANTIZED_ROW_FLOATS(blockSize);

static void quantizeBlock(const float *x, float *record) {
  float largest = 0;
  for (int64_t i = 0; i < blockSize; ++i)
    largest = std::max(largest, std::fabs(x[i]));
  float scale = largest / 127.0f;
  record[0] = scale;
  auto *bytes = reinterpret_cast<int8_t *>(record + 1);
  for (int64_t i = 0; i < blockSize; ++i)
    bytes[i] = scale == 0 ? 0 : static_cast<int8_t>(std::lround(x[i] / scale));
}

static float dequantize(const float *records, int64_t i) {
  const float *record = records + i / blockSize * recordFloats;
  return record[0] *
         reinterpret_cast<const int8_t *>(record + 1)[i % blockSize];
}

void sluice::test::roundTrip(std::vector<float> &row) {
  std::vector<float> records(SLUICE_QUANTIZED_ROW_FLOATS(row.size()));
  sluice_quantize_rows(nullptr, row.data(), records.data(), row.size(), 0, 1);
  for (size_t i = 0; i < row.size(); ++i)
    row[i] = dequantize(records.data(), i);
}

extern "C" void sluice_quantize_rows(SluiceStep *, const float *x, void *q,
                                     int64_t cols, int64_t rowBegin,
                                     int64_t rowEnd) {
  for (int64_t row = rowBegin; row < rowEnd; ++row)
    for (int64_t block = 0; block < cols / blockSize; ++block)
      quantizeBlock(x + row * cols + block * blockSize,
                    static_cast<float *>(q) +
                        row * SLUICE_QUANTIZED_ROW_FLOATS(cols) +
                        block * recordFloats);
}

//===----------------------------------------------------------------------===//
// Functions that share their work by rows
//===----------------------------------------------------------------------===//

extern "C" void sluice_barrier(SluiceStep *step, int64_t) {
  step->barrier->arrive_and_wait();
}

extern "C" void sluice_embed(SluiceStep *step, int64_t weight,
                             int32_t byPosition, float *out, int64_t rowBegin,
                             int64_t rowEnd) {
  const Matrix &table = step->weights.at(weight);
  for (int64_t row = rowBegin; row < rowEnd; ++row) {
    const Row &each = step->rows.at(row);
    int64_t index = byPosition ? each.position : each.token;
    std::copy_n(&table.values.at(index * table.cols), table.cols,
                out + row * table.cols);
  }
}

extern "C" const float *sluice_vector(SluiceStep *step, int64_t weight) {
  return step->weights.at(weight).values.data();
}

extern "C" void sluice_rope_table(SluiceStep *step, int64_t table,
                                  float *cosSin, int64_t rowBegin,
                                  int64_t rowEnd) {
  const RopeFrequencies &frequencies = step->ropeTables.at(table);
  int64_t pairs = frequencies.inverse.size();
  for (int64_t row = rowBegin; row < rowEnd; ++row)
    for (int64_t i = 0; i < pairs; ++i) {
      float angle = static_cast<float>(step->rows.at(row).position) *
                    frequencies.inverse[i];
      float *record = cosSin + row * 2 * pairs;
      record[i] = std::cos(angle) * frequencies.factor;
      record[pairs + i] = std::sin(angle) * frequencies.factor;
    }
}

extern "C" void sluice_select_outputs(SluiceStep *step, const float *h,
                                      float *out, int64_t cols,
                                      int64_t outBegin, int64_t outEnd) {
  for (int64_t o = outBegin; o < outEnd; ++o)
    std::copy_n(h + step->outputRows.at(o) * cols, cols, out + o * cols);
}

extern "C" void sluice_receive_rows(SluiceStep *step, float *h, int64_t cols,
                                    int64_t rowBegin, int64_t rowEnd) {
  for (int64_t i = rowBegin * cols; i < rowEnd * cols; ++i)
    h[i] = step->received.at(i);
}

extern "C" void sluice_send_rows(SluiceStep *step, const float *h, int64_t cols,
                                 int64_t rowBegin, int64_t rowEnd) {
  for (int64_t i = rowBegin * cols; i < rowEnd * cols; ++i)
    step->sent.at(i) = h[i];
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

/// Fills the gaps of dead records with records from the end.
template <typename Record>
static std::vector<Move> compact(std::vector<Record> &records,
                                 const std::vector<bool> &isAlive) {
  std::vector<Move> moves;
  auto last = static_cast<int64_t>(records.size()) - 1;
  int64_t first = 0;
  for (;; ++first) {
    while (last >= first && !isAlive[last])
      --last;
    if (first > last)
      break;
    if (isAlive[first])
      continue;
    moves.push_back({last, first});
    records[first] = records[last--];
  }
  records.resize(first);
  return moves;
}

static void letDeadRowsLeave(SluiceStep &step,
                             const std::set<int64_t> &sequences) {
  std::vector<bool> isAlive, isOutputAlive;
  for (const Row &row : step.rows)
    isAlive.push_back(!sequences.contains(row.sequence));
  for (int64_t row : step.outputRows)
    isOutputAlive.push_back(isAlive[row]);
  step.outputMoves = compact(step.outputRows, isOutputAlive);
  step.rowMoves = compact(step.rows, isAlive);
  for (auto [from, to] : step.rowMoves)
    for (int64_t &row : step.outputRows)
      if (row == from)
        row = to;
}

extern "C" int64_t sluice_checkpoint(SluiceStep *step, int64_t thread) {
  step->barrier->arrive_and_wait();
  if (thread == 0) {
    step->rowMoves.clear();
    step->outputMoves.clear();
    if (auto found = step->deaths.find(step->checkpoints++);
        found != step->deaths.end())
      letDeadRowsLeave(*step, found->second);
  }
  step->barrier->arrive_and_wait();
  return step->rows.size();
}

extern "C" int64_t sluice_outputs(SluiceStep *step) {
  return step->outputRows.size();
}

/// Moves all records on the last thread, so that a missing barrier shows.
static void move(const std::vector<Move> &moves, float *x, int64_t floats,
                 int64_t thread, int64_t threads) {
  if (thread == threads - 1)
    for (auto [from, to] : moves)
      std::copy_n(x + from * floats, floats, x + to * floats);
}

extern "C" void sluice_move_rows(SluiceStep *step, float *x, int64_t floats,
                                 int64_t thread, int64_t threads) {
  move(step->rowMoves, x, floats, thread, threads);
}

extern "C" void sluice_move_outputs(SluiceStep *step, float *x, int64_t floats,
                                    int64_t thread, int64_t threads) {
  move(step->outputMoves, x, floats, thread, threads);
}

//===----------------------------------------------------------------------===//
// Functions that share their work in other ways
//===----------------------------------------------------------------------===//

extern "C" void sluice_linear(SluiceStep *step, int64_t weight, const void *x,
                              const float *bias, float *y, int64_t colBegin,
                              int64_t colEnd, int64_t rows, int64_t thread,
                              int64_t threads) {
  const Matrix &w = step->weights.at(weight);
  int64_t in = w.isTransposed ? w.rows : w.cols;
  int64_t out = w.isTransposed ? w.cols : w.rows;
  int64_t cols = colEnd - colBegin;
  const auto *floats = static_cast<const float *>(x);
  auto input = [&](int64_t row, int64_t i) {
    return w.isQuantized
               ? dequantize(floats + row * SLUICE_QUANTIZED_ROW_FLOATS(in), i)
               : floats[row * in + i];
  };
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t c = cols * thread / threads; c < cols * (thread + 1) / threads;
         ++c) {
      int64_t o = colBegin + c;
      float sum = 0;
      for (int64_t i = 0; i < in; ++i)
        sum +=
            input(row, i) * w.values[w.isTransposed ? i * out + o : o * in + i];
      y[row * cols + c] = sum + (bias ? bias[o] : 0.0f);
    }
}

static int64_t cacheOffset(const LayerCache &cache, const Row &row,
                           int64_t position) {
  return (row.sequence * maxPositions + position) * cache.width;
}

extern "C" void sluice_append(SluiceStep *step, int64_t cacheLayer,
                              const float *k, const float *v, int64_t rows,
                              int64_t thread, int64_t threads) {
  LayerCache &cache = step->caches.at(cacheLayer);
  // The rows are taken backwards, so that a thread does not store the rows that
  // it made.
  for (int64_t row = rows - 1 - thread; row >= 0; row -= threads) {
    const Row &each = step->rows.at(row);
    int64_t at = cacheOffset(cache, each, each.position);
    std::copy_n(k + row * cache.width, cache.width, &cache.keys.at(at));
    std::copy_n(v + row * cache.width, cache.width, &cache.values.at(at));
  }
}

extern "C" void sluice_attend(SluiceStep *step, int64_t cacheLayer,
                              const float *q, const float *, const float *,
                              float *out, const SluiceAttention *params,
                              int64_t rows, int64_t thread, int64_t threads) {
  const LayerCache &cache = step->caches.at(cacheLayer);
  int64_t dim = params->headDim;
  for (int64_t unit = thread; unit < rows * params->heads; unit += threads) {
    int64_t row = unit / params->heads, head = unit % params->heads;
    int64_t kvHead = head / (params->heads / params->kvHeads);
    const Row &each = step->rows.at(row);
    int64_t first =
        params->window
            ? std::max<int64_t>(0, each.position - params->window + 1)
            : 0;
    std::vector<float> sum(dim, 0.0f);
    float total = 0;
    for (int64_t p = first; p <= each.position; ++p) {
      int64_t at = cacheOffset(cache, each, p) + kvHead * dim;
      float score = 0;
      for (int64_t i = 0; i < dim; ++i)
        score +=
            q[(row * params->heads + head) * dim + i] * cache.keys.at(at + i);
      score *= params->scale;
      if (params->softcap != 0)
        score = params->softcap * std::tanh(score / params->softcap);
      if (params->alibiSlopes)
        score += params->alibiSlopes[head] * (p - each.position);
      float weight = std::exp(score);
      total += weight;
      for (int64_t i = 0; i < dim; ++i)
        sum[i] += weight * cache.values.at(at + i);
    }
    for (int64_t i = 0; i < dim; ++i)
      out[(row * params->heads + head) * dim + i] = sum[i] / total;
  }
}

std::vector<RuntimeFunction> sluice::test::getRuntimeFunctions() {
  auto address = [](auto *function) {
    return reinterpret_cast<void *>(function);
  };
  return {{"sluice_barrier", address(sluice_barrier)},
          {"sluice_embed", address(sluice_embed)},
          {"sluice_vector", address(sluice_vector)},
          {"sluice_quantize_rows", address(sluice_quantize_rows)},
          {"sluice_linear", address(sluice_linear)},
          {"sluice_rope_table", address(sluice_rope_table)},
          {"sluice_append", address(sluice_append)},
          {"sluice_attend", address(sluice_attend)},
          {"sluice_receive_rows", address(sluice_receive_rows)},
          {"sluice_send_rows", address(sluice_send_rows)},
          {"sluice_checkpoint", address(sluice_checkpoint)},
          {"sluice_outputs", address(sluice_outputs)},
          {"sluice_move_rows", address(sluice_move_rows)},
          {"sluice_move_outputs", address(sluice_move_outputs)},
          {"sluice_select_outputs", address(sluice_select_outputs)}};
}
