//===- Oracle.h - models that need no weights -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models without weights: a target whose next token is a function of the tokens
// before it, and a draft that is right as often as one asks for. Both answer by
// place and not by the order in which they are asked, so every schedule meets
// the same target and the same draft.
//
// The draft's hit rates. Its first candidate is right with the chance a; each
// further one with 0.385 * a of what remains. At a = 0.64 that gives the rates
// of the demo pair: 0.64 for the first and 0.95 for the first eight.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_ORACLE_H
#define SLUICE_RUNTIME_SIM_ORACLE_H

#include "runtime/core/Rows.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::sim {

/// Stands for the tokens from a request's start up to a row.
class PathKey {
public:
  explicit PathKey(uint64_t seed) : hash(seed) {}
  PathKey &add(int32_t token);
  PathKey &add(std::span<const int32_t> tokens);
  uint64_t value() const { return hash; }

private:
  uint64_t hash;
};

/// The target: knows what follows a path.
class OracleTarget {
public:
  /// Any token of `vocabulary` can follow any path.
  OracleTarget(uint64_t seed, int32_t vocabulary)
      : seed(seed), vocabulary(vocabulary) {}
  /// Token i of the output is always outputs[i]; behind the list as above.
  OracleTarget(uint64_t seed, int32_t vocabulary, std::vector<int32_t> outputs)
      : seed(seed), vocabulary(vocabulary), outputs(std::move(outputs)) {}

  /// A path of `prompt`, to be continued by the output.
  PathKey begin(std::span<const int32_t> prompt) const;
  /// The token behind a path whose output so far has `outputTokens` tokens.
  int32_t next(PathKey path, int64_t outputTokens) const;

private:
  uint64_t seed;
  int32_t vocabulary;
  std::vector<int32_t> outputs;
};

/// What the draft says of how sure it is.
enum class Confidence : uint8_t {
  /// A candidate's confidence is the chance that it is right.
  Calibrated,
  /// Halves from candidate to candidate, whatever the acceptance: the policy
  /// has to find out by itself.
  Uninformative,
};

/// The draft. Thread-safe.
class OracleDraft {
public:
  /// `acceptance` in [0, 1].
  OracleDraft(uint64_t seed, int32_t vocabulary, double acceptance,
              Confidence confidence)
      : seed(seed), vocabulary(vocabulary), acceptance(acceptance),
        confidence(confidence) {}

  /// Chance that one of the first `count` candidates is right.
  double hitRate(int64_t count) const;

  /// `count` candidates for what follows the path, likeliest first and all
  /// different, fewer where the vocabulary is smaller. `truth` is what the
  /// target says. `candidates` is cleared first.
  void guess(PathKey path, int32_t truth, int64_t count,
             std::vector<Candidate> &candidates) const;

private:
  static constexpr double furtherShare = 0.385;

  uint64_t seed;
  int32_t vocabulary;
  double acceptance;
  Confidence confidence;
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_ORACLE_H
