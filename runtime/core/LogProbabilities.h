//===- LogProbabilities.h - log-softmax of raw logits ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_LOGPROBABILITIES_H
#define SLUICE_RUNTIME_CORE_LOGPROBABILITIES_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

struct TokenLogProbability {
  int32_t token = 0;
  double logProbability = 0; ///< natural logarithm; at most 0
};

/// The natural-log probabilities that logits stand for. Refers to the logits,
/// which must outlive it. Thread-compatible.
class LogProbabilities {
public:
  /// Fails without logits, on a NaN or +infinity, and if all are -infinity.
  static Expected<LogProbabilities> of(std::span<const float> logits);

  /// Returns the log-probability of a token, whose id must be in range.
  double logProbability(int32_t token) const {
    return static_cast<double>(logits[token]) - logSum;
  }

  /// Returns the `count` most probable tokens (fewer in a smaller vocabulary),
  /// most probable first, lower ids first among equals. Allocates the result.
  std::vector<TokenLogProbability> top(int64_t count) const;

private:
  LogProbabilities(std::span<const float> logits, double logSum)
      : logits(logits), logSum(logSum) {}

  std::span<const float> logits;
  double logSum; ///< log(sum of exp(logits)), summed by token id in double
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_LOGPROBABILITIES_H
