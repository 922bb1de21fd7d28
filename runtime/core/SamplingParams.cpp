//===- SamplingParams.cpp - checks sampling parameters --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/SamplingParams.h"

#include <cmath>

namespace sluice {

namespace {

/// Smaller temperatures are hardly different from 0 and make logits overflow.
constexpr double minTemperature = 1e-5;

/// Logits overflow if they are divided or multiplied by penalties beyond these.
constexpr double minRepetition = 1e-3, maxRepetition = 1e3;

Status checkPenalty(const char *name, double value) {
  if (!(value >= -2 && value <= 2))
    return failure(name, " is ", value, ", not in [-2, 2]");
  return {};
}

} // namespace

Status SamplingParams::validate(int64_t vocabSize) const {
  if (!(temperature >= 0) || std::isinf(temperature))
    return failure("temperature is ", temperature,
                   ", not a number of at least 0");
  if (temperature > 0 && temperature < minTemperature)
    return failure("temperature is ", temperature, ", neither 0 nor at least ",
                   minTemperature);
  if (topK < -1)
    return failure("top_k is ", topK, ", neither -1, 0 (all) nor at least 1");
  if (!(topP > 0 && topP <= 1))
    return failure("top_p is ", topP, ", not in (0, 1]");
  if (!(minP >= 0 && minP <= 1))
    return failure("min_p is ", minP, ", not in [0, 1]");
  if (!(repetitionPenalty >= minRepetition &&
        repetitionPenalty <= maxRepetition))
    return failure("repetition_penalty is ", repetitionPenalty, ", not in [",
                   minRepetition, ", ", maxRepetition, "]");
  SLUICE_RETURN_IF_ERROR(checkPenalty("presence_penalty", presencePenalty));
  SLUICE_RETURN_IF_ERROR(checkPenalty("frequency_penalty", frequencyPenalty));
  for (const auto &[token, bias] : logitBias) {
    if (token < 0 || token >= vocabSize)
      return failure("logit_bias: token ", token,
                     " is not in the vocabulary of ", vocabSize);
    if (std::isnan(bias) || bias == HUGE_VAL)
      return failure("logit_bias: the bias of token ", token, " is ", bias,
                     ", not a number");
  }
  return {};
}

} // namespace sluice
