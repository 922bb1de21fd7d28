//===- TinyGraph.cpp - the tiny model as a hand-written CUDA program ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/TinyGraph.h"

#include <cmath>
#include <initializer_list>
#include <vector>

namespace sluice::cuda {

using cpu::TinyPart;
using cpu::TinyProgram;

namespace {

constexpr int64_t hidden = TinyProgram::hiddenSize;
constexpr int64_t heads = 4, kvHeads = 2, headDim = 16;
constexpr int64_t kvWidth = kvHeads * headDim;
constexpr int64_t layers = 2;
constexpr int64_t vocabSize = TinyProgram::vocabSize;
constexpr int32_t threads = 64;

/// The numbers of the weights, as in TinyProgram.
enum : int64_t { TokenTable, PositionTable, Bias, RowLogits, FirstLayer };
enum : int64_t { Query, Key, Value, Output, LayerWeights };

struct Buffer {
  int64_t offset, floats;
  constexpr int64_t end() const { return offset + floats; }
};
constexpr Buffer H = {0, hidden};
constexpr Buffer P = {H.end(), hidden}; ///< the position's embedding
constexpr Buffer Q = {P.end(), hidden};
constexpr Buffer K = {Q.end(), kvWidth};
constexpr Buffer V = {K.end(), kvWidth};
constexpr Buffer A = {V.end(), hidden};
constexpr Buffer Floats = {
    A.end(), SLUICE_OPERAND_ROW_FLOATS(SLUICE_OPERAND_F32, hidden)};
constexpr Buffer Bfloats = {
    Floats.end(), SLUICE_OPERAND_ROW_FLOATS(SLUICE_OPERAND_BF16, hidden)};
constexpr Buffer Halves = {
    Bfloats.end(), SLUICE_OPERAND_ROW_FLOATS(SLUICE_OPERAND_F16, hidden)};
constexpr int64_t rowFloats = Halves.end() + 8;
static_assert(Bfloats.offset % 4 == 0 && Halves.offset % 4 == 0);

constexpr Buffer Selected = {0, hidden};
constexpr Buffer SelectedHalves = {Selected.end(), Halves.floats};
constexpr Buffer Scores = {SelectedHalves.end(), 64};
constexpr int64_t outputFloats = Scores.end();

constexpr SluiceAttention attention = {heads, kvHeads, headDim, 40,
                                       0.25f, 0,       nullptr};

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

template <typename T> T *word(const uint64_t *words, int i) {
  return reinterpret_cast<T *>(words[i]);
}

/// Waits for the previous kernel. Returns whether the block has a row.
bool begin(const uint64_t *words) {
  sluice_emulated_wait();
  return sluice_emulated_block() < *word<const int32_t>(words, 0);
}

/// (count, x, y, width): x[row] += y[row].
void tinyAdd(const uint64_t *words) {
  if (!begin(words))
    return;
  auto width = static_cast<int64_t>(words[3]);
  float *x = word<float>(words, 1) + sluice_emulated_block() * width;
  const float *y = word<float>(words, 2) + sluice_emulated_block() * width;
  for (int64_t i = sluice_emulated_thread(); i < width; i += threads)
    x[i] += y[i];
}

/// (count, x, heads, table, positions): rotates pairs (i, i + headDim/2).
void tinyRotate(const uint64_t *words) {
  if (!begin(words))
    return;
  constexpr int64_t half = headDim / 2;
  auto rotated = static_cast<int64_t>(words[2]);
  int32_t row = sluice_emulated_block();
  const float *table =
      word<float>(words, 3) + word<const int32_t>(words, 4)[row] * headDim;
  for (int64_t i = sluice_emulated_thread(); i < rotated * half; i += threads) {
    float *pair =
        word<float>(words, 1) + (row * rotated + i / half) * headDim + i % half;
    float cosine = table[i % half], sine = table[half + i % half];
    float a = pair[0], b = pair[half];
    pair[0] = a * cosine - b * sine;
    pair[half] = a * sine + b * cosine;
  }
}

/// (count, out, x, rows, width): out[output] = x[rows[output]].
void tinySelect(const uint64_t *words) {
  if (!begin(words))
    return;
  auto width = static_cast<int64_t>(words[4]);
  int32_t output = sluice_emulated_block();
  int64_t row = word<const int32_t>(words, 3)[output];
  for (int64_t i = sluice_emulated_thread(); i < width; i += threads)
    word<float>(words, 1)[output * width + i] =
        word<const float>(words, 2)[row * width + i];
}

/// Returns whether x at place i is chosen before y at place j.
bool wins(float x, int32_t i, float y, int32_t j) {
  bool isNaN = std::isnan(x);
  if (isNaN != std::isnan(y))
    return isNaN;
  return isNaN || x == y ? i < j : x > y;
}

/// (count, tokens, logits, width): finds the place of the greatest logit by a
/// tree in shared memory and a warp's shuffles.
void tinyArgmax(const uint64_t *words) {
  if (!begin(words))
    return;
  auto width = static_cast<int32_t>(words[3]);
  int32_t output = sluice_emulated_block(), thread = sluice_emulated_thread();
  const float *logits = word<const float>(words, 2) + output * width;
  auto *values = static_cast<float *>(sluice_emulated_shared(0));
  auto *places = static_cast<int32_t *>(sluice_emulated_shared(4 * threads));
  int32_t best = thread < width ? thread : 0;
  for (int32_t i = thread; i < width; i += threads)
    best = wins(logits[i], i, logits[best], best) ? i : best;
  values[thread] = logits[best];
  places[thread] = best;
  sluice_emulated_barrier();
  int32_t other = thread ^ 32;
  if (wins(values[other], places[other], values[thread], best))
    best = places[other];
  for (int32_t mask = 16; mask > 0; mask /= 2) {
    float value = sluice_emulated_shuffle_xor(logits[best], mask);
    float place = sluice_emulated_shuffle_xor(float(best), mask);
    if (wins(value, int32_t(place), logits[best], best))
      best = int32_t(place);
  }
  if (thread == 0)
    word<int32_t>(words, 1)[output] =
        std::isfinite(logits[best]) ? best : ~best;
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

uint64_t wordOf(const void *pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

/// The code that the compiler would emit.
struct TinyBuilder {
  SluiceGraph *graph;
  bool checks;

  float *at(Buffer value, int32_t domain = SLUICE_DOMAIN_ROWS) {
    return static_cast<float *>(
        sluice_graph_value(graph, domain, value.offset));
  }
  float *out(Buffer value) { return at(value, SLUICE_DOMAIN_OUTPUTS); }

  void launch(const char *kernel, int32_t domain,
              std::initializer_list<uint64_t> words) {
    std::vector<uint64_t> all = {wordOf(sluice_graph_count(graph, domain))};
    all.insert(all.end(), words);
    sluice_graph_launch(graph, kernel, domain, threads, 1, all.data(),
                        std::ssize(all));
  }
  void add(Buffer x, Buffer y) {
    launch("tiny_add", SLUICE_DOMAIN_ROWS,
           {wordOf(at(x)), wordOf(at(y)), hidden});
  }
  void rotate(Buffer x, int64_t count) {
    launch("tiny_rotate", SLUICE_DOMAIN_ROWS,
           {wordOf(at(x)), uint64_t(count),
            wordOf(sluice_graph_rope_table(graph, 0)),
            wordOf(sluice_graph_positions(graph))});
  }
  void operand(Buffer x, Buffer to, int32_t kind) {
    sluice_graph_operand(graph, SLUICE_DOMAIN_ROWS, at(x), at(to), hidden,
                         kind);
  }
  void linear(int64_t weight, Buffer operand, Buffer y, int64_t columns,
              const float *bias = nullptr, const float *residual = nullptr) {
    sluice_graph_linear(graph, SLUICE_DOMAIN_ROWS, weight, at(operand), bias,
                        nullptr, residual, at(y), SLUICE_GATE_NONE, 0, columns);
  }
  void checkpoint(std::initializer_list<Buffer> values) {
    if (!checks)
      return;
    std::vector<void *> addresses;
    std::vector<int64_t> floats;
    for (Buffer value : values) {
      addresses.push_back(at(value));
      floats.push_back(value.floats);
    }
    sluice_graph_checkpoint(graph, addresses.data(), floats.data(),
                            std::ssize(floats));
  }

  void layer(int64_t number, int64_t cacheLayer) {
    int64_t first = FirstLayer + number * LayerWeights;
    operand(H, Floats, SLUICE_OPERAND_F32);
    operand(H, Bfloats, SLUICE_OPERAND_BF16);
    linear(first + Query, Floats, Q, hidden);
    linear(first + Key, Bfloats, K, kvWidth);
    linear(first + Value, Floats, V, kvWidth);
    checkpoint({H, Q, K, V});
    rotate(Q, heads);
    rotate(K, kvHeads);
    sluice_graph_append(graph, cacheLayer, at(K), at(V));
    checkpoint({H, Q, K, V});
    sluice_graph_attend(graph, cacheLayer, at(Q), at(A), &attention);
    // There are more values than one kernel moves.
    checkpoint({H, A, P, Q, K, V, Floats, Bfloats, Halves});
    operand(A, Halves, SLUICE_OPERAND_F16);
    linear(first + Output, Halves, H, hidden, sluice_graph_vector(graph, Bias),
           at(H));
    checkpoint({H});
  }

  void scores() {
    sluice_graph_select_outputs(graph);
    launch("tiny_select", SLUICE_DOMAIN_OUTPUTS,
           {wordOf(out(Selected)), wordOf(at(H)),
            wordOf(sluice_graph_output_rows(graph)), hidden});
    sluice_graph_operand(graph, SLUICE_DOMAIN_OUTPUTS, out(Selected),
                         out(SelectedHalves), hidden, SLUICE_OPERAND_F16);
    checkpoint({});
    sluice_graph_linear(graph, SLUICE_DOMAIN_OUTPUTS, RowLogits,
                        out(SelectedHalves), nullptr, nullptr, nullptr,
                        out(Scores), SLUICE_GATE_NONE, 0, vocabSize);
    checkpoint({});
    launch("tiny_argmax", SLUICE_DOMAIN_OUTPUTS,
           {wordOf(sluice_graph_greedy_tokens(graph)), wordOf(out(Scores)),
            vocabSize});
  }
};

template <int64_t first, int64_t last, bool checks>
void buildTiny(SluiceGraph *graph) {
  TinyBuilder tiny = {graph, checks};
  if (first == 0) {
    sluice_graph_embed(graph, TokenTable, 0, tiny.at(H), hidden);
    sluice_graph_embed(graph, PositionTable, 1, tiny.at(P), hidden);
    tiny.add(H, P);
  } else {
    sluice_graph_receive(graph, tiny.at(H), hidden);
  }
  tiny.checkpoint({H});
  for (int64_t layer = first; layer < last; ++layer)
    tiny.layer(layer, layer - first);
  if (last == layers)
    tiny.scores();
  else
    sluice_graph_send(graph, tiny.at(H), hidden);
}

} // namespace

std::span<const SluiceEmulatedKernel> tinyKernels() {
  static const SluiceEmulatedKernel kernels[] = {{"tiny_add", tinyAdd},
                                                 {"tiny_rotate", tinyRotate},
                                                 {"tiny_select", tinySelect},
                                                 {"tiny_argmax", tinyArgmax}};
  return kernels;
}

CudaProgram tinyGraph(const TinyProgram &tiny, TinyPart part) {
  CudaProgram program = {tiny.program(part), nullptr, {}, {}};
  // The kernels need other buffers than those of a CPU.
  program.rowFloats = rowFloats;
  if (program.hasOutput) {
    program.outputFloats = outputFloats;
    program.logitsOffset = Scores.offset;
  }
  const std::vector<cpu::EmbeddingTable> &stored = tiny.stored();
  for (size_t i = 0; i < stored.size(); ++i) {
    StoredMatrix matrix = {stored[i].data, stored[i].format, stored[i].format,
                           stored[i].rows, stored[i].cols};
    std::string name = "w" + std::to_string(i);
    if (i == TokenTable || i == PositionTable)
      program.weights.push_back(TableWeight{name, matrix});
    else if (i == Bias)
      program.weights.push_back(VectorWeight{name, matrix});
    else
      program.weights.push_back(LinearWeight{name, matrix, false, {}});
  }
  switch (part) {
  case TinyPart::Whole:
    program.build = buildTiny<0, layers, false>;
    break;
  case TinyPart::WholeWithCheckpoints:
    program.build = buildTiny<0, layers, true>;
    break;
  case TinyPart::FirstStage:
    program.build = buildTiny<0, 1, true>;
    break;
  case TinyPart::SecondStage:
    program.build = buildTiny<1, layers, true>;
    program.weights[TokenTable] = program.weights[PositionTable];
    break;
  }
  return program;
}

} // namespace sluice::cuda
