//===- TinyProgram.h - a small model, as the compiler would emit it -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A two-layer model whose plan and row kernels are written by hand: token and
// position embeddings, attention with rope, an output projection with quantised
// weights, residuals, and logits. Weights are random. The model exists as
// several programs: whole, whole with checkpoints at all kinds of places, and
// as two stages with such checkpoints.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_TEST_TINYPROGRAM_H
#define SLUICE_RUNTIME_DEVICE_CPU_TEST_TINYPROGRAM_H

#include "runtime/device/cpu/CpuExecutor.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::cpu {

enum class TinyPart : uint8_t {
  Whole,
  WholeWithCheckpoints,
  FirstStage,
  SecondStage
};

/// Describes the programs and owns their weights.
class TinyProgram {
public:
  static constexpr int64_t vocabSize = 50;
  static constexpr int64_t contextLength = 100;
  static constexpr int64_t hiddenSize = 64;
  /// The checkpoints that a step of WholeWithCheckpoints passes.
  static constexpr int64_t checkpoints = 12;

  explicit TinyProgram(Isa isa);

  CpuProgram program(TinyPart part = TinyPart::Whole) const;

  /// Returns the weights as a file would store them, in the same order.
  const std::vector<EmbeddingTable> &stored() const { return rows; }

private:
  std::vector<float> random(int64_t count);
  void addLinear(int64_t out, int64_t in, Format format);
  void addTable(int64_t rows, int64_t cols, Format format);

  uint32_t state = 1;
  CpuProgram description;
  std::vector<EmbeddingTable> rows;
  std::vector<std::unique_ptr<uint8_t[]>> storage;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_TEST_TINYPROGRAM_H
