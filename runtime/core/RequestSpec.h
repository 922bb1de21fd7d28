//===- RequestSpec.h - what a user asks of the head -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_REQUESTSPEC_H
#define SLUICE_RUNTIME_CORE_REQUESTSPEC_H

#include "runtime/base/Status.h"
#include "runtime/core/Rows.h"

#include <algorithm>
#include <compare>
#include <vector>

namespace sluice {

struct HeadLimits;

/// The order in which requests are served when not all can be: earlier `at`
/// first; at the same time, lower number first.
struct QueuePriority {
  Time at{0};
  int64_t number = 0;
  auto operator<=>(const QueuePriority &) const = default;
};

struct RequestSpec {
  std::vector<int32_t> prompt; ///< at least one token
  /// Tokens that the request has generated before; it continues after them.
  std::vector<int32_t> generated = {};
  SamplingParams sampling;
  GrammarSource grammar = {};
  /// The largest number of generated tokens, with those in `generated`; -1 for
  /// as many as fit the context.
  int64_t maxTokens = -1;
  std::vector<int32_t> stopTokens; ///< end the text; not part of it
  int32_t logProbabilities = -1;   ///< as in OpenRequest
  /// Whether to report on all tokens of the prompt but the first as well; needs
  /// logProbabilities of at least 0.
  bool scoresPrompt = false;
  /// Length of the prefix of the prompt that has been reported on already; 0
  /// for none.
  int64_t scored = 0;
  QueuePriority queuePriority = {};
  TenantNumber tenant = 0; ///< whom the request's work is charged to
  /// Only requests of the same scope share prefixes of prompts.
  uint64_t prefixScope = 0;

  /// Fails if no head with these limits, which must be settled, can ever admit
  /// the request: its prompt is empty, its known tokens do not fit the context
  /// or the cache, or its parameters are out of range.
  Status validate(const HeadLimits &limits) const;

  /// Returns how many tokens are known when the request opens.
  int64_t knownTokens() const {
    return std::ssize(prompt) + std::ssize(generated);
  }
  /// Returns how many tokens of the prompt are still to be reported on.
  int64_t unscored() const {
    return scoresPrompt ? std::ssize(prompt) - std::max<int64_t>(1, scored) : 0;
  }
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_REQUESTSPEC_H
