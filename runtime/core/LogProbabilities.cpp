//===- LogProbabilities.cpp - log-softmax of raw logits -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/LogProbabilities.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice {

Expected<LogProbabilities> LogProbabilities::of(std::span<const float> logits) {
  if (logits.empty())
    return failure("log-probabilities: no logits");
  float largest = -HUGE_VALF;
  for (size_t token = 0; token < logits.size(); ++token) {
    if (std::isnan(logits[token]) || logits[token] == HUGE_VALF)
      return failure("log-probabilities: the logit of token ", token, " is ",
                     logits[token]);
    largest = std::max(largest, logits[token]);
  }
  if (largest == -HUGE_VALF)
    return failure("log-probabilities: every logit is -infinity");
  double sum = 0;
  for (float logit : logits)
    sum += std::exp(static_cast<double>(logit) - largest);
  return LogProbabilities(logits, largest + std::log(sum));
}

std::vector<TokenLogProbability> LogProbabilities::top(int64_t count) const {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  size_t wanted = static_cast<size_t>(
      std::clamp<int64_t>(count, 0, static_cast<int64_t>(ids.size())));
  std::partial_sort(ids.begin(), ids.begin() + wanted, ids.end(),
                    [this](int32_t a, int32_t b) {
                      return logits[a] != logits[b] ? logits[a] > logits[b]
                                                    : a < b;
                    });
  std::vector<TokenLogProbability> result;
  result.reserve(wanted);
  for (size_t i = 0; i < wanted; ++i)
    result.push_back({ids[i], logProbability(ids[i])});
  return result;
}

} // namespace sluice
