//===- OutputRequest.h - what a step must return for an output ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Says what a caller needs of an output row. Logits are many, so a device that
// knows their use can return the token or the few logits that matter. It may
// always return all logits instead.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_OUTPUTREQUEST_H
#define SLUICE_RUNTIME_CORE_OUTPUTREQUEST_H

#include <cstdint>

namespace sluice {

/// The largest number of logits in an answer of kind Candidates.
constexpr int32_t maxCandidates = 128;

/// A token and its logit.
struct TokenLogit {
  float logit;
  int32_t token;

  bool operator==(const TokenLogit &) const = default;
};

/// Devices read it from their memory in this layout.
struct OutputRequest {
  enum Kind : int32_t {
    Logits, ///< all logits
    /// The token with the greatest logit; the lowest of several such tokens.
    Greatest,
    Drawn, ///< the token that a Sampler draws without filters
    /// The `count` greatest logits, or all if there are fewer; among equal
    /// logits, the lowest tokens.
    Candidates,
  };
  Kind kind = Logits;
  int32_t count = 0; ///< Candidates: 1 to maxCandidates
  // For Drawn and Candidates: from SamplingParams and Sampler::sample().
  double temperature = 0;
  uint64_t seed = 0;
  int64_t position = 0;
  /// Candidates: the least scaled logit, (logit - greatest) / temperature, of a
  /// wanted token; used if wantsAllAbove.
  double minScore = 0;
  /// Whether all tokens from minScore on are wanted. If there may be more than
  /// `count` of them, the device returns all logits.
  bool wantsAllAbove = false;
  /// Explicit padding, so that all bytes are initialised.
  uint8_t unused[7] = {};
};

static_assert(sizeof(OutputRequest) == 48);

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_OUTPUTREQUEST_H
