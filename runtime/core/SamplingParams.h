//===- SamplingParams.h - how a request wants its tokens chosen -----------===//
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

/// Parameters of one request. The defaults change nothing about the model's
/// distribution but its temperature: 0, greedy.
struct SamplingParams {
  /// Logits are divided by it. 0: the largest logit wins, the lowest id where
  /// several are equal.
  double temperature = 0;
  /// Only the k most probable tokens. 0 or -1: all.
  int64_t topK = 0;
  /// Only the most probable tokens whose probabilities first reach topP, in
  /// (0, 1]. 1: all.
  double topP = 1;
  /// Only tokens at least minP times as probable as the most probable one, in
  /// [0, 1]. 0: all.
  double minP = 0;
  /// Logits of tokens in the prompt or the output are divided by it where they
  /// are positive, multiplied where they are negative. In [0.001, 1000]; 1:
  /// none.
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
  /// Whether the token is that of the largest logit, whatever came before; but
  /// for what a grammar allows.
  bool takesLargest() const {
    return greedy() && logitBias.empty() && !hasPenalties();
  }

  /// Errors: a number that is not finite or out of its range, a biased token
  /// that the vocabulary of `vocabSize` tokens does not have. The message says
  /// which, in the names that users know (top_p, min_p, ...).
  Status validate(int64_t vocabSize) const;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_SAMPLINGPARAMS_H
