//===- TinyProgram.cpp - a small model, as the compiler would emit it -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/test/TinyProgram.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

namespace sluice::cpu {

namespace {

constexpr int64_t hidden = TinyProgram::hiddenSize;
constexpr int64_t heads = 4;
constexpr int64_t kvHeads = 2;
constexpr int64_t headDim = 16;
constexpr int64_t kvWidth = kvHeads * headDim;
constexpr int64_t layers = 2;
constexpr int64_t vocabSize = TinyProgram::vocabSize;
constexpr int64_t quantizedFloats = SLUICE_QUANTIZED_ROW_FLOATS(hidden);

/// The numbers of the weights.
enum : int64_t { TokenTable, PositionTable, Bias, Logits, FirstLayer };
enum : int64_t { Query, Key, Value, Output, LayerWeights };

/// A value: one row of floats for each row of a step, or for each output.
struct Buffer {
  int64_t offset, floats;
  constexpr int64_t end() const { return offset + floats; }
};
constexpr Buffer H = {0, hidden};
constexpr Buffer Q = {H.end(), hidden};
constexpr Buffer K = {Q.end(), kvWidth};
constexpr Buffer V = {K.end(), kvWidth};
constexpr Buffer A = {V.end(), hidden};
constexpr Buffer Quantized = {A.end(), quantizedFloats};
constexpr Buffer CosSin = {Quantized.end(), headDim};
constexpr Buffer Spare = {CosSin.end(), hidden};
constexpr int64_t rowFloats = Spare.end();

constexpr int64_t lowColumns = 32; ///< columns of a product that is cut in two
constexpr Buffer Selected = {0, hidden};
constexpr Buffer Scores = {Selected.end(), vocabSize};
constexpr Buffer LowScores = {Scores.end(), lowColumns};
constexpr Buffer HighScores = {LowScores.end(), vocabSize - lowColumns};
constexpr int64_t outputFloats = HighScores.end();

constexpr SluiceAttention attention = {heads, kvHeads, headDim, 40,
                                       0.25f, 0,       nullptr};

struct Share {
  int64_t begin, end;
};
Share shareOf(int64_t count, int64_t thread, int64_t threads) {
  return {count * thread / threads, count * (thread + 1) / threads};
}

/// The code that the compiler would emit: one step on one thread.
struct TinyStep {
  SluiceStep *step;
  int64_t rows;
  int64_t outputs;
  float *arena;
  int64_t rowCapacity;
  int64_t outputCapacity;
  int64_t thread;
  int64_t threads;
  bool checks;

  using Buffers = std::initializer_list<Buffer>;

  float *at(Buffer value) { return arena + value.offset * rowCapacity; }
  float *out(Buffer value) {
    return arena + rowFloats * rowCapacity + value.offset * outputCapacity;
  }
  Share share() { return shareOf(rows, thread, threads); }
  Share outputShare() { return shareOf(outputs, thread, threads); }
  void barrier() { sluice_barrier(step, thread); }

  void linear(int64_t weight, const void *x, const float *bias, float *y,
              int64_t columns, int64_t count, int64_t first = 0) {
    sluice_linear(step, weight, x, bias, y, first, first + columns, count,
                  thread, threads);
  }

  /// Returns false if no row is left.
  bool checkpoint(Buffers rowValues, Buffers outputValues = {}) {
    if (!checks)
      return true;
    int64_t living = sluice_checkpoint(step, thread);
    if (living == 0 || living == rows)
      return living != 0;
    rows = living;
    outputs = sluice_outputs(step);
    for (Buffer value : rowValues)
      sluice_move_rows(step, at(value), value.floats, thread, threads);
    for (Buffer value : outputValues)
      sluice_move_outputs(step, out(value), value.floats, thread, threads);
    barrier();
    return true;
  }

  void embed();
  void rotate(float *x, int64_t headCount);
  bool layer(int64_t number, int64_t cacheLayer);
  bool scores();
};

void TinyStep::embed() {
  // The position's embedding goes to Q, which is free at this time.
  auto [begin, end] = share();
  sluice_embed(step, TokenTable, 0, at(H), begin, end);
  sluice_embed(step, PositionTable, 1, at(Q), begin, end);
  for (int64_t i = begin * hidden; i < end * hidden; ++i)
    at(H)[i] += at(Q)[i];
}

/// Rotates pairs (i, i + headDim/2) of each head.
void TinyStep::rotate(float *x, int64_t headCount) {
  constexpr int64_t half = headDim / 2;
  auto [begin, end] = share();
  for (int64_t row = begin; row < end; ++row)
    for (int64_t head = 0; head < headCount; ++head)
      for (int64_t i = 0; i < half; ++i) {
        float *pair = x + (row * headCount + head) * headDim + i;
        float cosine = at(CosSin)[row * headDim + i];
        float sine = at(CosSin)[row * headDim + half + i];
        float a = pair[0], b = pair[half];
        pair[0] = a * cosine - b * sine;
        pair[half] = a * sine + b * cosine;
      }
}

bool TinyStep::layer(int64_t number, int64_t cacheLayer) {
  int64_t first = FirstLayer + number * LayerWeights;
  linear(first + Query, at(H), nullptr, at(Q), hidden, rows);
  linear(first + Key, at(H), nullptr, at(K), kvWidth, rows);
  linear(first + Value, at(H), nullptr, at(V), kvWidth, rows);
  barrier();
  if (!checkpoint({H, Q, K, V, CosSin}))
    return false;
  rotate(at(Q), heads);
  rotate(at(K), kvHeads);
  barrier();
  sluice_append(step, cacheLayer, at(K), at(V), rows, thread, threads);
  barrier();
  if (!checkpoint({H, Q, K, V, CosSin}))
    return false;
  // Computes attention twice, to check that each call computes all of it.
  for (float *result : {at(Spare), at(A)}) {
    sluice_attend(step, cacheLayer, at(Q), at(K), at(V), result, &attention,
                  rows, thread, threads);
    barrier();
  }
  if (!checkpoint({H, A, CosSin}))
    return false;
  auto [begin, end] = share();
  sluice_quantize_rows(step, at(A), at(Quantized), hidden, begin, end);
  barrier();
  if (!checkpoint({H, Quantized, CosSin}))
    return false;
  linear(first + Output, at(Quantized), sluice_vector(step, Bias), at(Q),
         hidden, rows);
  barrier();
  auto [from, to] = share();
  for (int64_t i = from * hidden; i < to * hidden; ++i)
    at(H)[i] += at(Q)[i];
  barrier();
  return true;
}

bool TinyStep::scores() {
  auto [begin, end] = outputShare();
  sluice_select_outputs(step, at(H), out(Selected), hidden, begin, end);
  barrier();
  if (!checks) {
    linear(Logits, out(Selected), nullptr, out(Scores), vocabSize, outputs);
    return true;
  }
  if (!checkpoint({}, {Selected}))
    return false;
  linear(Logits, out(Selected), nullptr, out(LowScores), lowColumns, outputs);
  if (!checkpoint({}, {Selected, LowScores}))
    return false;
  linear(Logits, out(Selected), nullptr, out(HighScores), HighScores.floats,
         outputs, lowColumns);
  if (!checkpoint({}, {LowScores, HighScores}))
    return false;
  auto [from, to] = outputShare();
  for (int64_t row = from; row < to; ++row) {
    float *whole = out(Scores) + row * vocabSize;
    std::copy_n(out(LowScores) + row * lowColumns, lowColumns, whole);
    std::copy_n(out(HighScores) + row * HighScores.floats, HighScores.floats,
                whole + lowColumns);
  }
  return true;
}

/// Computes layers `begin` .. `end` - 1, with what comes before the first and
/// after the last layer.
template <int64_t begin, int64_t end, bool checks>
void stepTiny(SluiceStep *step, int64_t rows, int64_t outputs, float *arena,
              int64_t rowCapacity, int64_t outputCapacity, int64_t thread,
              int64_t threads) {
  TinyStep tiny = {step,           rows,   outputs, arena, rowCapacity,
                   outputCapacity, thread, threads, checks};
  auto [rowBegin, rowEnd] = tiny.share();
  if (begin == 0)
    tiny.embed();
  else
    sluice_receive_rows(step, tiny.at(H), hidden, rowBegin, rowEnd);
  sluice_rope_table(step, 0, tiny.at(CosSin), rowBegin, rowEnd);
  tiny.barrier();
  if (!tiny.checkpoint({H, CosSin}))
    return;
  for (int64_t layer = begin; layer < end; ++layer)
    if (!tiny.layer(layer, layer - begin))
      return;
  if (end == layers) {
    tiny.scores();
    return;
  }
  auto [first, last] = tiny.share();
  sluice_send_rows(step, tiny.at(H), hidden, first, last);
}

constexpr size_t lineBytes = 64;

} // namespace

std::vector<float> TinyProgram::random(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float &value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / (1 << 24) - 0.5f;
  }
  return values;
}

void TinyProgram::addTable(int64_t rows, int64_t cols, Format format) {
  uint64_t bytes = *rowBytes(format, cols);
  storage.push_back(std::make_unique<uint8_t[]>(bytes * rows));
  for (int64_t row = 0; row < rows; ++row)
    quantizeRow(format, random(cols).data(), storage.back().get() + row * bytes,
                cols);
  this->rows.push_back({format, storage.back().get(), rows, cols});
  description.weights.push_back(this->rows.back());
}

void TinyProgram::addLinear(int64_t out, int64_t in, Format format) {
  addTable(out, in, format);
  const uint8_t *stored =
      std::get<EmbeddingTable>(description.weights.back()).data;
  LinearSpec spec = {out, in, format, format, false};
  storage.push_back(
      std::make_unique<uint8_t[]>(*packedBytes(spec) + lineBytes));
  auto address = reinterpret_cast<uintptr_t>(storage.back().get());
  auto *packed = reinterpret_cast<uint8_t *>((address + lineBytes - 1) /
                                             lineBytes * lineBytes);
  packPanels(spec, stored, packed, 0, panelCount(out));
  description.weights.back() = packedWeight(spec, packed);
}

TinyProgram::TinyProgram(Isa isa) {
  addTable(vocabSize, hidden, Format::Q8_0);
  addTable(contextLength, hidden, Format::F32);
  addTable(1, hidden, Format::F32);
  const void *bias = std::get<EmbeddingTable>(description.weights.back()).data;
  description.weights.back() =
      std::span<const float>(static_cast<const float *>(bias), hidden);
  addLinear(vocabSize, hidden, Format::F16);
  for (int64_t layer = 0; layer < layers; ++layer) {
    addLinear(hidden, hidden, Format::F32);
    addLinear(kvWidth, hidden, Format::BF16);
    addLinear(kvWidth, hidden, Format::F32);
    addLinear(hidden, hidden, Format::Q4_0);
    description.caches.push_back({kvHeads, headDim});
  }
  device::RopeTable table;
  for (int64_t i = 0; i < headDim / 2; ++i)
    table.inverseFrequencies.push_back(1.0f / static_cast<float>(1 << i));
  description.ropeTables.push_back(table);
  description.step = stepTiny<0, layers, false>;
  description.isa = isa;
  description.hiddenSize = hidden;
  description.rowFloats = rowFloats;
  description.outputFloats = outputFloats;
  description.logitsOffset = Scores.offset;
  description.vocabSize = vocabSize;
  description.contextLength = contextLength;
}

CpuProgram TinyProgram::program(TinyPart part) const {
  CpuProgram program = description;
  switch (part) {
  case TinyPart::Whole:
    break;
  case TinyPart::WholeWithCheckpoints:
    program.step = stepTiny<0, layers, true>;
    break;
  case TinyPart::FirstStage:
    program.step = stepTiny<0, 1, true>;
    program.caches.pop_back();
    program.hasOutput = false;
    program.outputFloats = program.logitsOffset = 0;
    break;
  case TinyPart::SecondStage:
    program.step = stepTiny<1, layers, true>;
    program.caches.pop_back();
    program.hasEmbedding = false;
    // This table is looked up by token, and the stage knows no tokens.
    program.weights[TokenTable] = program.weights[PositionTable];
    break;
  }
  return program;
}

} // namespace sluice::cpu
