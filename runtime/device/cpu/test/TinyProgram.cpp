//===- TinyProgram.cpp - a small model as the compiler would emit it ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/test/TinyProgram.h"

#include <cstring>

namespace sluice::cpu {

namespace {

constexpr int64_t hidden = 64;
constexpr int64_t heads = 4;
constexpr int64_t kvHeads = 2;
constexpr int64_t headDim = 16;
constexpr int64_t kvWidth = kvHeads * headDim;
constexpr int64_t layers = 2;
constexpr int64_t quantizedFloats = SLUICE_QUANTIZED_ROW_FLOATS(hidden);

/// Weight numbers.
enum : int64_t { TokenTable, PositionTable, Bias, Logits, FirstLayer };
enum : int64_t { Query, Key, Value, Output, LayerWeights };

/// Buffers, as offsets in floats per row of capacity.
enum : int64_t {
  H = 0,
  Q = H + hidden,
  K = Q + hidden,
  V = K + kvWidth,
  A = V + kvWidth,
  Quantized = A + hidden,
  CosSin = Quantized + quantizedFloats,
  RowFloats = CosSin + headDim
};
/// And per output.
enum : int64_t { Selected = 0, Scores = Selected + hidden };

constexpr SluiceAttention attention = {heads, kvHeads, headDim, 40,
                                       0.25f, 0,       nullptr};

/// Rotates pairs (i, i + headDim/2) of each head.
void rotate(float *x, const float *cosSin, int64_t headCount, int64_t begin,
            int64_t end) {
  constexpr int64_t half = headDim / 2;
  for (int64_t row = begin; row < end; ++row)
    for (int64_t head = 0; head < headCount; ++head)
      for (int64_t i = 0; i < half; ++i) {
        float *pair = x + (row * headCount + head) * headDim + i;
        float cosine = cosSin[row * headDim + i];
        float sine = cosSin[row * headDim + half + i];
        float a = pair[0], b = pair[half];
        pair[0] = a * cosine - b * sine;
        pair[half] = a * sine + b * cosine;
      }
}

struct Share {
  int64_t begin, end;
};
Share shareOf(int64_t count, int64_t thread, int64_t threads) {
  return {count * thread / threads, count * (thread + 1) / threads};
}

void stepTiny(SluiceStep *step, int64_t rows, int64_t outputs, float *arena,
              int64_t rowCapacity, int64_t outputCapacity, int64_t thread,
              int64_t threads) {
  auto at = [&](int64_t offset) { return arena + offset * rowCapacity; };
  auto out = [&](int64_t offset) {
    return at(RowFloats) + offset * outputCapacity;
  };
  auto linear = [&](int64_t weight, const void *x, const float *bias, float *y,
                    int64_t count) {
    sluice_linear(step, weight, x, bias, y, count, thread, threads);
  };
  auto barrier = [&] { sluice_barrier(step, thread); };
  auto [begin, end] = shareOf(rows, thread, threads);

  // The position's embedding goes to Q for a moment, which is free.
  sluice_embed(step, TokenTable, 0, at(H), begin, end);
  sluice_embed(step, PositionTable, 1, at(Q), begin, end);
  for (int64_t i = begin * hidden; i < end * hidden; ++i)
    at(H)[i] += at(Q)[i];
  sluice_rope_table(step, 0, at(CosSin), begin, end);
  for (int64_t layer = 0; layer < layers; ++layer) {
    int64_t first = FirstLayer + layer * LayerWeights;
    barrier();
    linear(first + Query, at(H), nullptr, at(Q), rows);
    linear(first + Key, at(H), nullptr, at(K), rows);
    linear(first + Value, at(H), nullptr, at(V), rows);
    barrier();
    rotate(at(Q), at(CosSin), heads, begin, end);
    rotate(at(K), at(CosSin), kvHeads, begin, end);
    barrier();
    sluice_append(step, layer, at(K), at(V), rows, thread, threads);
    barrier();
    sluice_attend(step, layer, at(Q), at(K), at(V), at(A), &attention, rows,
                  thread, threads);
    barrier();
    sluice_quantize_rows(at(A), at(Quantized), hidden, begin, end);
    barrier();
    linear(first + Output, at(Quantized), sluice_vector(step, Bias), at(Q),
           rows);
    barrier();
    for (int64_t i = begin * hidden; i < end * hidden; ++i)
      at(H)[i] += at(Q)[i];
  }
  barrier();
  auto [outBegin, outEnd] = shareOf(outputs, thread, threads);
  sluice_select_outputs(step, at(H), out(Selected), hidden, outBegin, outEnd);
  barrier();
  linear(Logits, out(Selected), nullptr, out(Scores), outputs);
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
  description.weights.push_back(
      RowTable{format, storage.back().get(), rows, cols});
}

void TinyProgram::addLinear(int64_t out, int64_t in, Format format) {
  addTable(out, in, format);
  const uint8_t *stored = std::get<RowTable>(description.weights.back()).data;
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
  const void *bias = std::get<RowTable>(description.weights.back()).data;
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
  RopeTable table;
  for (int64_t i = 0; i < headDim / 2; ++i)
    table.inverseFrequencies.push_back(1.0f / static_cast<float>(1 << i));
  description.ropeTables.push_back(table);
  description.step = stepTiny;
  description.isa = isa;
  description.rowFloats = RowFloats;
  description.outputFloats = Scores + vocabSize;
  description.logitsOffset = Scores;
  description.vocabSize = vocabSize;
  description.contextLength = contextLength;
}

} // namespace sluice::cpu
