//===- TestModels.h - small models of two layers --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_UNITTESTS_CONVERSION_TESTMODELS_H
#define SLUICE_UNITTESTS_CONVERSION_TESTMODELS_H

#include "StepRunner.h"

#include <string>

namespace sluice::test {

constexpr int64_t vocabSize = 100;
constexpr int64_t heads = 4, kvHeads = 2, headDim = 16;
constexpr double scale = 0.25;

void replaceAll(std::string &text, const std::string &what,
                const std::string &by);

/// The texts of a model. The number of the layer replaces @ in `layerWeights`
/// and # in `layer`; the layer's input and output replace $in and $out.
struct ModelText {
  std::string weights, layerWeights, layer;
  std::string before, after;
};

/// These return the arguments of StepRunner: the lines of all weights, and the
/// model's body.
std::string makeWeights(const ModelText &model);
std::string makeBody(const ModelText &model);
/// Replaces the short names of types by the types.
std::string spellOut(std::string text);

/// A serial model with quantised weights.
extern const ModelText llama;
/// A model whose attention and feed-forward layer are parallel. It has no
/// select_outputs, so the logits of all rows are computed.
extern const ModelText parallel;

/// Returns the token of a sequence at a position.
int64_t tokenAt(int64_t sequence, int64_t position);
/// Returns a row that is an output.
TestRow makeRow(int64_t sequence, int64_t position);

} // namespace sluice::test

#endif // SLUICE_UNITTESTS_CONVERSION_TESTMODELS_H
