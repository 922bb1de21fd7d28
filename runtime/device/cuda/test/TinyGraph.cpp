//===- TinyGraph.cpp - the tiny model as a hand-written CUDA program ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/TinyGraph.h"
#include "runtime/device/cuda/kernels/OperandLayout.h"

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

/// The numbers of the buffers, those of rows first. P is the position's
/// embedding.
enum : int64_t {
  H,
  P,
  Q,
  K,
  V,
  A,
  Floats,
  Bfloats,
  Halves,
  Selected,
  SelectedHalves,
  Scores
};

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

/// (count, x, y): x[row] += y[row].
void tinyAdd(const uint64_t *words) {
  if (!begin(words))
    return;
  float *x = word<float>(words, 1) + sluice_emulated_block() * hidden;
  const float *y = word<float>(words, 2) + sluice_emulated_block() * hidden;
  for (int64_t i = sluice_emulated_thread(); i < hidden; i += threads)
    x[i] += y[i];
}

/// (count, x, table, positions): rotates pairs (i, i + headDim/2) of `rotated`
/// heads.
template <int64_t rotated> void tinyRotate(const uint64_t *words) {
  if (!begin(words))
    return;
  constexpr int64_t half = headDim / 2;
  int32_t row = sluice_emulated_block();
  const float *table =
      word<float>(words, 2) + word<const int32_t>(words, 3)[row] * headDim;
  for (int64_t i = sluice_emulated_thread(); i < rotated * half; i += threads) {
    float *pair =
        word<float>(words, 1) + (row * rotated + i / half) * headDim + i % half;
    float cosine = table[i % half], sine = table[half + i % half];
    float a = pair[0], b = pair[half];
    pair[0] = a * cosine - b * sine;
    pair[half] = a * sine + b * cosine;
  }
}

/// (count, out, x, rows): out[output] = x[rows[output]].
void tinySelect(const uint64_t *words) {
  if (!begin(words))
    return;
  constexpr int64_t width = hidden;
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

/// (count, tokens, logits): finds the place of the greatest logit by a
/// tree in shared memory and a warp's shuffles.
void tinyArgmax(const uint64_t *words) {
  if (!begin(words))
    return;
  constexpr auto width = static_cast<int32_t>(vocabSize);
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
// Plans
//===----------------------------------------------------------------------===//

using device::KernelArgument;
using device::noOperand;
using device::OperandRows;
using device::RecordKind;

enum : int64_t {
  AddKernel,
  RotateQueries,
  RotateKeys,
  SelectKernel,
  ArgmaxKernel
};

/// Writes a step down as the compiler would.
class PlanWriter {
public:
  /// With `checks` there are checkpoints at every kind of place.
  PlanWriter(CudaProgram &program, bool checks)
      : plan(program.step), checks(checks) {
    plan = {};
    plan.kernelNames = {"tiny_add", "tiny_rotate_queries", "tiny_rotate_keys",
                        "tiny_select", "tiny_argmax"};
    program.rowFloats = addBuffers(
        RecordKind::Rows, {hidden, hidden, hidden, kvWidth, kvWidth, hidden,
                           operandRowFloats(OperandKind::F32, hidden),
                           operandRowFloats(OperandKind::BF16, hidden),
                           operandRowFloats(OperandKind::F16, hidden)});
    const int64_t outputFloats = addBuffers(
        RecordKind::Outputs,
        {hidden, operandRowFloats(OperandKind::F16, hidden), vocabSize});
    if (program.hasOutput) {
      program.outputFloats = outputFloats;
      program.logitsOffset = plan.buffers[Scores].place;
    } else {
      plan.buffers.resize(Selected);
    }
    plan.attentions = {{heads, 40, 0.25f, 0, {}}};
  }

  void begin(bool embeds) {
    if (embeds) {
      plan.tasks.emplace_back(device::EmbedTask{TokenTable, false, H});
      plan.tasks.emplace_back(device::EmbedTask{PositionTable, true, P});
      launch(AddKernel, {buffer(H), buffer(P)});
    } else {
      plan.tasks.emplace_back(device::ReceiveTask{H});
    }
    checkpoint({H});
  }

  void addLayer(int64_t number, int64_t cache) {
    int64_t first = FirstLayer + number * LayerWeights;
    addOperand(H, Floats, OperandRows::F32);
    addOperand(H, Bfloats, OperandRows::Bf16);
    addProduct(first + Query, Floats, Q, hidden);
    addProduct(first + Key, Bfloats, K, kvWidth);
    addProduct(first + Value, Floats, V, kvWidth);
    checkpoint({H, Q, K, V});
    rotate(RotateQueries, Q);
    rotate(RotateKeys, K);
    plan.tasks.emplace_back(device::AppendTask{K, V, cache});
    checkpoint({H, Q, K, V});
    plan.tasks.emplace_back(device::AttendTask{Q, A, cache, 0});
    // There are more values than one kernel moves.
    checkpoint({H, A, P, Q, K, V, Floats, Bfloats, Halves});
    addOperand(A, Halves, OperandRows::F16);
    addProduct(first + Output, Halves, H, hidden, Bias, H);
    checkpoint({H});
  }

  void addScores() {
    launch(SelectKernel,
           {buffer(Selected), buffer(H), {KernelArgument::Kind::OutputRows}},
           RecordKind::Outputs);
    addOperand(Selected, SelectedHalves, OperandRows::F16, RecordKind::Outputs);
    checkpoint({});
    plan.tasks.emplace_back(
        device::ProductTask{RecordKind::Outputs, SelectedHalves, RowLogits,
                            noOperand, Scores, 0, vocabSize});
    checkpoint({});
    launch(ArgmaxKernel, {{KernelArgument::Kind::GreedyTokens}, buffer(Scores)},
           RecordKind::Outputs);
  }

  void addSend() { plan.tasks.emplace_back(device::SendTask{H}); }

private:
  static KernelArgument buffer(int64_t number) {
    return {KernelArgument::Kind::Buffer, number};
  }

  /// Adds buffers one behind the other; returns the floats that they take.
  int64_t addBuffers(RecordKind kind, std::initializer_list<int64_t> widths) {
    int64_t place = 0;
    for (int64_t width : widths) {
      plan.buffers.push_back({kind, width, place});
      place += (width + 15) / 16 * 16;
    }
    return place;
  }

  void launch(int64_t kernel, std::vector<KernelArgument> arguments,
              RecordKind kind = RecordKind::Rows) {
    plan.tasks.emplace_back(
        device::RowLoopTask{kind, kernel, std::move(arguments), threads, 1});
  }
  void rotate(int64_t kernel, int64_t x) {
    launch(kernel, {buffer(x),
                    {KernelArgument::Kind::RopeTable, 0},
                    {KernelArgument::Kind::Positions}});
  }
  void addOperand(int64_t x, int64_t to, OperandRows format,
                  RecordKind kind = RecordKind::Rows) {
    plan.tasks.emplace_back(device::OperandTask{kind, format, x, to});
  }
  void addProduct(int64_t weight, int64_t operand, int64_t y, int64_t columns,
                  int64_t bias = noOperand, int64_t residual = noOperand) {
    device::ProductTask product = {
        RecordKind::Rows, operand, weight, bias, y, 0, columns};
    product.residual = residual;
    plan.tasks.emplace_back(product);
  }
  void checkpoint(std::vector<int64_t> buffers) {
    if (checks)
      plan.tasks.emplace_back(device::CheckpointTask{std::move(buffers)});
  }

  device::StepPlan &plan;
  const bool checks;
};

/// Plans layers `begin` .. `end` - 1, with what comes before the first and
/// after the last.
void planStep(CudaProgram &program, int64_t begin, int64_t end, bool checks) {
  PlanWriter writer(program, checks);
  writer.begin(/*embeds=*/begin == 0);
  for (int64_t layer = begin; layer < end; ++layer)
    writer.addLayer(layer, layer - begin);
  if (end == layers)
    writer.addScores();
  else
    writer.addSend();
}

} // namespace

std::span<const SluiceEmulatedKernel> tinyKernels() {
  static const SluiceEmulatedKernel kernels[] = {
      {"tiny_add", tinyAdd},
      {"tiny_rotate_queries", tinyRotate<heads>},
      {"tiny_rotate_keys", tinyRotate<kvHeads>},
      {"tiny_select", tinySelect},
      {"tiny_argmax", tinyArgmax}};
  return kernels;
}

CudaProgram tinyGraph(const TinyProgram &tiny, TinyPart part) {
  CudaProgram program = {tiny.program(part), {}, {}};
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
  // The kernels need other buffers than those of a CPU.
  switch (part) {
  case TinyPart::Whole:
    planStep(program, 0, layers, false);
    break;
  case TinyPart::WholeWithCheckpoints:
    planStep(program, 0, layers, true);
    break;
  case TinyPart::FirstStage:
    planStep(program, 0, 1, true);
    break;
  case TinyPart::SecondStage:
    planStep(program, 1, layers, true);
    program.weights[TokenTable] = program.weights[PositionTable];
    break;
  }
  return program;
}

} // namespace sluice::cuda
