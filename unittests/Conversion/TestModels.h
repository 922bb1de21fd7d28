//===- TestModels.h - small models of two layers --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_UNITTESTS_CONVERSION_TESTMODELS_H
#define SLUICE_UNITTESTS_CONVERSION_TESTMODELS_H

#include "StubRuntime.h"

#include <string>

namespace sluice::test {

constexpr int64_t vocabSize = 100;
constexpr int64_t heads = 4, kvHeads = 2, headDim = 16;
constexpr double scale = 0.25;

void replaceAll(std::string &text, const std::string &what,
                const std::string &by);

/// A model's texts. In those of a layer @ and # stand for its number, $in and
/// $out for its input and output.
struct ModelText {
  std::string weights, layerWeights, layer;
  std::string before, after;
};

/// For StepRunner: lines of all weights, and the model's body.
std::string makeWeights(const ModelText &model);
std::string makeBody(const ModelText &model);
/// Spells out the short names of types.
std::string spellOut(std::string text);

/// A serial model with quantised weights.
extern const ModelText llama;
/// Attention and feed-forward are parallel. All logits are computed, and the
/// model has no select_outputs.
extern const ModelText parallel;

/// Token `position` of sequence `sequence`.
int64_t tokenAt(int64_t sequence, int64_t position);
/// A row that is an output.
Row makeRow(int64_t sequence, int64_t position);

} // namespace sluice::test

#endif // SLUICE_UNITTESTS_CONVERSION_TESTMODELS_H
