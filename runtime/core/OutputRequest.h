//===- OutputRequest.h - what is wanted of an output of a step ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Logits are many: a device that knows what becomes of them can give the token,
// or the few of them that matter. It may always give logits instead.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_OUTPUTREQUEST_H
#define SLUICE_RUNTIME_CORE_OUTPUTREQUEST_H

#include <cstdint>

namespace sluice {

/// The logits of an output that a device gives of its own accord, at most.
constexpr int32_t maxCandidates = 128;

/// A token and its logit.
struct TokenLogit {
  float logit;
  int32_t token;

  bool operator==(const TokenLogit &) const = default;
};

/// Lies in a device's memory as it is.
struct OutputRequest {
  enum Kind : int32_t {
    Logits,     ///< all of them
    Greatest,   ///< the token of the greatest logit, the least of several
    Drawn,      ///< the token that a Sampler without filters draws
    Candidates, ///< the greatest logits, `count` of them, of equal ones those
                ///< of the least tokens; fewer where there are no more
  };
  Kind kind = Logits;
  int32_t count = 0; ///< Candidates: 1 to maxCandidates
  // Drawn and Candidates: SamplingParams's, and Sampler::sample()'s.
  double temperature = 0;
  uint64_t seed = 0;
  int64_t position = 0;
  /// Candidates: whether all tokens are wanted whose logits, less the greatest
  /// and divided by the temperature, are at least `minScore`. Where there may
  /// be more than `count`, logits are given.
  double minScore = 0;
  bool wantsAllAbove = false;
  uint8_t unused[7] = {}; ///< so that every byte of it is written
};

static_assert(sizeof(OutputRequest) == 48);

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_OUTPUTREQUEST_H
