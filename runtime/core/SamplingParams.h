//===- SamplingParams.h - sampling parameters of a request ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_SAMPLINGPARAMS_H
#define SLUICE_RUNTIME_CORE_SAMPLINGPARAMS_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <map>

namespace sluice {

/// The sampling parameters of one request. The defaults leave the model's
/// distribution as it is and choose greedily.
struct SamplingParams {
  /// The divisor of logits. 0: the token with the largest logit wins, of equal
  /// logits the one with the lowest id.
  double temperature = 0;
  /// Keeps only the k most probable tokens. 0 or -1: all.
  int64_t topK = 0;
  /// Keeps only the most probable tokens, up to the one with which their
  /// probabilities reach topP; in (0, 1]. 1: all.
  double topP = 1;
  /// Keeps only tokens at least minP times as probable as the most probable
  /// token; in [0, 1]. 0: all.
  double minP = 0;
  /// Divides positive logits and multiplies negative logits of the tokens in
  /// the prompt or the output; in [0.001, 1000]. 1: no penalty.
  double repetitionPenalty = 1;
  /// Subtracted once from the logit of each token in the output; in [-2, 2].
  double presencePenalty = 0;
  /// Subtracted for each time that the token is in the output; in [-2, 2].
  double frequencyPenalty = 0;
  /// Added to logits, by token id; finite, or -infinity to forbid a token.
  std::map<int32_t, double> logitBias = {};
  uint64_t seed = 0;

  bool greedy() const { return temperature == 0; }
  bool hasPenalties() const {
    return repetitionPenalty != 1 || presencePenalty != 0 ||
           frequencyPenalty != 0;
  }
  /// Whether the token with the largest logit is chosen whatever came before,
  /// apart from what a grammar forbids.
  bool takesLargest() const {
    return greedy() && logitBias.empty() && !hasPenalties();
  }

  /// Fails on a number that is not finite or out of its range, and on a biased
  /// token that a vocabulary of `vocabSize` tokens does not have. The message
  /// names the parameter as users know it (top_p, min_p, ...).
  Status validate(int64_t vocabSize) const;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_SAMPLINGPARAMS_H
