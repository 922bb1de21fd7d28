//===- TinyProgram.cpp - a small model, as the compiler would emit it -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/test/TinyProgram.h"

#include <algorithm>
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

/// The buffers' numbers. Of outputs: Selected and those behind it.
enum : int64_t {
  H,
  Q,
  K,
  V,
  A,
  Quantized,
  CosSin,
  Spare,
  Selected,
  Scores,
  LowScores,
  HighScores
};

constexpr int64_t lowColumns = 32; ///< of a product that is cut in two
constexpr int64_t highColumns = vocabSize - lowColumns;

//===----------------------------------------------------------------------===//
// Row kernels
//===----------------------------------------------------------------------===//

using Arguments = void *const *;

float *floats(Arguments arguments, size_t number) {
  return static_cast<float *>(arguments[number]);
}

/// (token table, position table, h, q): h = both embeddings; the position's
/// goes to q for a moment, which is free.
void embed(SluiceStep *step, Arguments arguments, int64_t begin, int64_t end) {
  float *h = floats(arguments, 2);
  float *q = floats(arguments, 3);
  sluice_embed(step, static_cast<SluiceTable *>(arguments[0]), 0, h, begin,
               end);
  sluice_embed(step, static_cast<SluiceTable *>(arguments[1]), 1, q, begin,
               end);
  for (int64_t i = begin * hidden; i < end * hidden; ++i)
    h[i] += q[i];
}

/// (rope table, cosSin)
void lookUpRotations(SluiceStep *step, Arguments arguments, int64_t begin,
                     int64_t end) {
  sluice_rope_table(step, static_cast<SluiceRopeTable *>(arguments[0]),
                    floats(arguments, 1), begin, end);
}

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

/// (cosSin, q, k): rotates q and k in place.
void rotateBoth(SluiceStep *, Arguments arguments, int64_t begin, int64_t end) {
  rotate(floats(arguments, 1), floats(arguments, 0), heads, begin, end);
  rotate(floats(arguments, 2), floats(arguments, 0), kvHeads, begin, end);
}

/// (x, quantised x)
void quantize(SluiceStep *step, Arguments arguments, int64_t begin,
              int64_t end) {
  sluice_quantize_rows(step, floats(arguments, 0), arguments[1], hidden, begin,
                       end);
}

/// (x, h): h += x
void add(SluiceStep *, Arguments arguments, int64_t begin, int64_t end) {
  for (int64_t i = begin * hidden; i < end * hidden; ++i)
    floats(arguments, 1)[i] += floats(arguments, 0)[i];
}

/// (h, selected)
void select(SluiceStep *step, Arguments arguments, int64_t begin, int64_t end) {
  sluice_select_outputs(step, floats(arguments, 0), floats(arguments, 1),
                        hidden, begin, end);
}

/// (low scores, high scores, scores)
void joinScores(SluiceStep *, Arguments arguments, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    float *whole = floats(arguments, 2) + row * vocabSize;
    std::copy_n(floats(arguments, 0) + row * lowColumns, lowColumns, whole);
    std::copy_n(floats(arguments, 1) + row * highColumns, highColumns,
                whole + lowColumns);
  }
}

/// (h)
void receive(SluiceStep *step, Arguments arguments, int64_t begin,
             int64_t end) {
  sluice_receive_rows(step, floats(arguments, 0), hidden, begin, end);
}

/// (h)
void send(SluiceStep *step, Arguments arguments, int64_t begin, int64_t end) {
  sluice_send_rows(step, floats(arguments, 0), hidden, begin, end);
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

using device::KernelArgument;
using device::RecordKind;

/// Writes a step down as the compiler would.
class PlanWriter {
public:
  /// With `checks` there are checkpoints at every kind of place.
  PlanWriter(CpuProgram &program, bool checks)
      : program(program), plan(program.step), checks(checks) {
    plan = {};
    program.kernels.clear();
    program.rowFloats =
        addBuffers(RecordKind::Rows, {hidden, hidden, kvWidth, kvWidth, hidden,
                                      quantizedFloats, headDim, hidden});
    program.outputFloats = addBuffers(
        RecordKind::Outputs, {hidden, vocabSize, lowColumns, highColumns});
    program.logitsOffset = plan.buffers[Scores].place;
    plan.attentions = {{heads, 40, 0.25f, 0, {}}};
  }

  void begin(bool embeds) {
    if (embeds)
      addRows(embed, {weight(TokenTable), weight(PositionTable), buffer(H),
                      buffer(Q)});
    else
      addRows(receive, {buffer(H)});
    addRows(lookUpRotations,
            {{KernelArgument::Kind::RopeTable, 0}, buffer(CosSin)});
    barrier();
    checkpoint({H, CosSin});
  }

  void addLayer(int64_t number, int64_t cache) {
    int64_t first = FirstLayer + number * LayerWeights;
    addProduct(H, first + Query, Q, hidden);
    addProduct(H, first + Key, K, kvWidth);
    addProduct(H, first + Value, V, kvWidth);
    barrier();
    checkpoint({H, Q, K, V, CosSin});
    addRows(rotateBoth, {buffer(CosSin), buffer(Q), buffer(K)});
    barrier();
    plan.tasks.emplace_back(device::AppendTask{K, V, cache});
    barrier();
    checkpoint({H, Q, K, V, CosSin});
    // Twice, for nothing but to see that each time all of it is computed.
    for (int64_t result : {Spare, A}) {
      plan.tasks.emplace_back(device::AttendTask{Q, result, cache, 0});
      barrier();
    }
    checkpoint({H, A, CosSin});
    addRows(quantize, {buffer(A), buffer(Quantized)});
    barrier();
    checkpoint({H, Quantized, CosSin});
    addProduct(Quantized, first + Output, Q, hidden, Bias);
    barrier();
    addRows(add, {buffer(Q), buffer(H)});
    barrier();
  }

  void addScores() {
    addRows(select, {buffer(H), buffer(Selected)}, RecordKind::Outputs);
    barrier();
    if (!checks)
      return addScoresOf(Scores, 0, vocabSize);
    checkpoint({Selected});
    addScoresOf(LowScores, 0, lowColumns);
    checkpoint({Selected, LowScores});
    addScoresOf(HighScores, lowColumns, vocabSize);
    checkpoint({LowScores, HighScores});
    addRows(joinScores, {buffer(LowScores), buffer(HighScores), buffer(Scores)},
            RecordKind::Outputs);
  }

  void addSend() { addRows(send, {buffer(H)}); }

private:
  static KernelArgument buffer(int64_t number) {
    return {KernelArgument::Kind::Buffer, number};
  }
  static KernelArgument weight(int64_t number) {
    return {KernelArgument::Kind::Weight, number};
  }

  /// One behind the other; the floats that they take.
  int64_t addBuffers(RecordKind kind, std::initializer_list<int64_t> widths) {
    int64_t place = 0;
    for (int64_t width : widths) {
      plan.buffers.push_back({kind, width, place});
      place += (width + 15) / 16 * 16;
    }
    return place;
  }

  void addRows(SluiceRowKernel kernel, std::vector<KernelArgument> arguments,
               RecordKind kind = RecordKind::Rows) {
    auto found = std::ranges::find(program.kernels, kernel);
    auto number = static_cast<int64_t>(found - program.kernels.begin());
    if (found == program.kernels.end()) {
      plan.kernelNames.push_back("kernel" + std::to_string(number));
      program.kernels.push_back(kernel);
    }
    plan.tasks.emplace_back(
        device::RowLoopTask{kind, number, std::move(arguments)});
  }

  void addProduct(int64_t input, int64_t weight, int64_t output,
                  int64_t columns, int64_t bias = device::noOperand) {
    plan.tasks.emplace_back(device::ProductTask{RecordKind::Rows, input, weight,
                                                bias, output, 0, columns});
  }

  void addScoresOf(int64_t output, int64_t first, int64_t end) {
    plan.tasks.emplace_back(device::ProductTask{RecordKind::Outputs, Selected,
                                                Logits, device::noOperand,
                                                output, first, end});
  }

  void barrier() { plan.tasks.emplace_back(device::BarrierTask()); }

  void checkpoint(std::vector<int64_t> buffers) {
    if (checks)
      plan.tasks.emplace_back(device::CheckpointTask{std::move(buffers)});
  }

  CpuProgram &program;
  device::StepPlan &plan;
  const bool checks;
};

/// Layers `begin` .. `end` - 1, with what comes before the first and behind the
/// last.
void planStep(CpuProgram &program, int64_t begin, int64_t end, bool checks) {
  PlanWriter writer(program, checks);
  writer.begin(/*embeds=*/begin == 0);
  for (int64_t layer = begin; layer < end; ++layer)
    writer.addLayer(layer, layer - begin);
  if (end == layers)
    writer.addScores();
  else
    writer.addSend();
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
  planStep(description, 0, layers, /*checks=*/false);
  description.isa = isa;
  description.hiddenSize = hidden;
  description.vocabSize = vocabSize;
  description.contextLength = contextLength;
}

CpuProgram TinyProgram::program(TinyPart part) const {
  CpuProgram program = description;
  switch (part) {
  case TinyPart::Whole:
    break;
  case TinyPart::WholeWithCheckpoints:
    planStep(program, 0, layers, /*checks=*/true);
    break;
  case TinyPart::FirstStage:
    planStep(program, 0, 1, /*checks=*/true);
    program.caches.pop_back();
    program.hasOutput = false;
    break;
  case TinyPart::SecondStage:
    planStep(program, 1, layers, /*checks=*/true);
    program.caches.pop_back();
    program.hasEmbedding = false;
    // That table is looked up by token, of which this stage knows none.
    program.weights[TokenTable] = program.weights[PositionTable];
    break;
  }
  return program;
}

} // namespace sluice::cpu
