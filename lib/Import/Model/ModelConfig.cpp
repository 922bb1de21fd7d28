//===- ModelConfig.cpp - the configuration of a decoder model -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/Model/ModelConfig.h"

#include <cmath>

using namespace sluice;
using namespace sluice::importer;

namespace {

/// The largest size, which keeps every product of two sizes far from
/// overflowing.
constexpr int64_t largestSize = int64_t(1) << 26;

bool isPositive(double value) { return std::isfinite(value) && value > 0; }

Status validateRope(const RopeConfig &rope, int64_t headDim) {
  if (rope.dimensions < 2 || rope.dimensions % 2 != 0 ||
      rope.dimensions > headDim)
    return failure("rope turns ", rope.dimensions, " features of heads of ",
                   headDim, " (an even number up to the head's is wanted)");
  if (!isPositive(rope.base) || rope.base == 1)
    return failure("rope's base ", rope.base, " is not positive, or 1");
  const RopeScaling &scaling = rope.scaling;
  if (!isPositive(scaling.factor))
    return failure("rope's scaling factor ", scaling.factor,
                   " is not positive");
  if (scaling.kind == RopeScaling::Kind::Llama3 &&
      !(isPositive(scaling.lowFrequencyFactor) &&
        isPositive(scaling.highFrequencyFactor) &&
        scaling.highFrequencyFactor > scaling.lowFrequencyFactor))
    return failure("rope's llama3 scaling wants 0 < low_freq_factor < "
                   "high_freq_factor, not ",
                   scaling.lowFrequencyFactor, " and ",
                   scaling.highFrequencyFactor);
  if (scaling.kind == RopeScaling::Kind::Yarn &&
      !(isPositive(scaling.betaFast) && isPositive(scaling.betaSlow) &&
        scaling.betaFast > scaling.betaSlow &&
        isPositive(scaling.attentionFactor)))
    return failure("rope's yarn scaling wants beta_fast > beta_slow > 0 and an "
                   "attention factor > 0, not ",
                   scaling.betaFast, ", ", scaling.betaSlow, " and ",
                   scaling.attentionFactor);
  return {};
}

} // namespace

void ModelConfig::dropTokensOutside(const std::string &place) {
  std::erase_if(eosTokens, [&](int64_t token) {
    bool isOutside = token < 0 || token >= vocabulary;
    if (isOutside)
      warnings.push_back(place + ": the end-of-text token " +
                         std::to_string(token) +
                         " is outside the vocabulary of " +
                         std::to_string(vocabulary) + " and is left out");
    return isOutside;
  });
}

Status ModelConfig::validate() const {
  for (int64_t size : {vocabulary, context, hidden, layers, heads,
                       keyValueHeads, headDim, feedForward})
    if (size <= 0)
      return failure("a size is zero");
  for (int64_t size : {hidden, heads, headDim, feedForward})
    if (size > largestSize)
      return failure("a size of ", size, " is larger than the ", largestSize,
                     " supported");
  if (heads % keyValueHeads != 0)
    return failure(heads, " heads are not a multiple of ", keyValueHeads,
                   " key heads");
  if (!std::isfinite(epsilon) || epsilon < 0)
    return failure("the norms' epsilon ", epsilon, " is negative");
  if (!isPositive(attentionScale))
    return failure("the attention scale ", attentionScale, " is not positive");
  if (!windows.empty() && int64_t(windows.size()) != layers)
    return failure("sliding windows are given for ", windows.size(), " of ",
                   layers, " layers");
  if (position == PositionKind::Rope)
    return validateRope(rope, headDim);
  return {};
}
