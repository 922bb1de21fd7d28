//===- Oracle.h - models without weights ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models without weights: a target whose next token is a function of the tokens
// before it, and a draft that is right with a given probability. Both answer by
// the path, not by the order of the questions, so every schedule sees the same
// target and the same draft.
//
// The draft's hit rates: its first candidate is right with the chance a, and
// each further one with 0.385 * a of the remaining chance. At a = 0.64 these
// are the rates of the demo pair: 0.64 for the first candidate and 0.95 for the
// first eight.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ORACLE_ORACLE_H
#define SLUICE_RUNTIME_ORACLE_ORACLE_H

#include "runtime/core/Rows.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// A hash of the tokens from a request's start up to a row.
class PathKey {
public:
  explicit PathKey(uint64_t seed) : hash(seed) {}
  PathKey &add(int32_t token);
  PathKey &add(std::span<const int32_t> tokens);
  uint64_t value() const { return hash; }

private:
  uint64_t hash;
};

/// The target model.
class OracleTarget {
public:
  /// A target for which any token of `vocabulary` can follow any path.
  OracleTarget(uint64_t seed, int32_t vocabulary)
      : seed(seed), vocabulary(vocabulary) {}
  /// A target whose output begins with `outputs`, whatever the path, and
  /// continues as above.
  OracleTarget(uint64_t seed, int32_t vocabulary, std::vector<int32_t> outputs)
      : seed(seed), vocabulary(vocabulary), outputs(std::move(outputs)) {}

  /// Returns the path of `prompt`, which the output continues.
  PathKey begin(std::span<const int32_t> prompt) const;
  /// Returns the token after a path whose output so far has `outputTokens`
  /// tokens.
  int32_t next(PathKey path, int64_t outputTokens) const;

private:
  uint64_t seed;
  int32_t vocabulary;
  std::vector<int32_t> outputs;
};

/// How the draft's confidences relate to its hit rates.
enum class OracleConfidence : uint8_t {
  /// A candidate's confidence is the chance that it is right.
  Calibrated,
  /// The confidence halves from candidate to candidate, whatever the
  /// acceptance: the policy has to find out the acceptance by itself.
  Uninformative,
};

/// The draft model. Thread-safe.
class OracleDraft {
public:
  /// `acceptance` is in [0, 1].
  OracleDraft(uint64_t seed, int32_t vocabulary, double acceptance,
              OracleConfidence confidence)
      : seed(seed), vocabulary(vocabulary), acceptance(acceptance),
        confidence(confidence) {}

  /// Returns the chance that one of the first `count` candidates is right.
  double hitRate(int64_t count) const;

  /// Sets `candidates` to `count` candidates for the token after the path,
  /// likeliest first and all different; fewer if the vocabulary is smaller.
  /// `truth` is the target's token.
  void guess(PathKey path, int32_t truth, int64_t count,
             std::vector<Candidate> &candidates) const;

private:
  static constexpr double furtherShare = 0.385;

  uint64_t seed;
  int32_t vocabulary;
  double acceptance;
  OracleConfidence confidence;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_ORACLE_ORACLE_H
