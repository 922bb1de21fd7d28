//===- Sampler.h - chooses a token from logits ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses a token as a pure function of the logits, the tokens before it, the
// parameters, the seed and the position. The steps, in vLLM's order:
//
//   1. logit bias is added
//   2. penalties: repetition, then frequency, then presence
//   3. temperature 0: the largest logit wins, and that is all
//   4. top-k; of tokens with equal logits the lowest ids stay
//   5. division by the temperature
//   6. min-p, relative to the most probable token; whether min-p or top-p comes
//      first makes no difference
//   7. top-p, over the renormalised rest
//   8. of the rest, the token with the largest logit + noise wins
//
// The noise is Gumbel noise, -log(-log(u)), with u from tokenNoise(seed,
// position) for each token id. This draws from the softmax of the logits. Since
// each token has its own noise, two models with the same seed and position and
// with similar distributions mostly draw the same token, and so the guesses of
// a draft model come true. One random number for the whole distribution would
// not achieve that.
//
// All arithmetic after the logits is in double precision. The order of the
// incoming logits does not matter to filters and noise, nor do logits that a
// filter would remove, so a device may do a part of the work (OutputRequest).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_SAMPLER_H
#define SLUICE_RUNTIME_CORE_SAMPLER_H

#include "runtime/core/OutputRequest.h"
#include "runtime/core/Rows.h"
#include "runtime/core/SamplingParams.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// Returns what a device may compute for sample() with these parameters,
/// provided that nothing else reads the logits and no token is forbidden by a
/// grammar.
OutputRequest requestFor(const SamplingParams &params, int64_t position);

/// Returns whether a token can be chosen by the logits: none is NaN or
/// +infinity, and not all are -infinity.
bool areLogits(std::span<const float> logits);

/// Chooses tokens. Allocates working memory for one vocabulary at construction
/// and has no state between calls. Thread-compatible.
class Sampler {
public:
  explicit Sampler(int64_t vocabSize);

  int64_t vocabSize() const { return size; }

  /// Returns the token at `position`, the number of tokens before it. `logits`
  /// has vocabSize entries. `prompt` and `output` are the tokens before, which
  /// only penalties read. `params` must be validated. Token ids from vocabSize
  /// on are ignored in all of these, because a draft can have fewer tokens than
  /// the target whose text it continues. `allowed` has a bit for each token
  /// that may be chosen, 64 to a word; tokens beyond its end are forbidden; if
  /// it is empty, all tokens are allowed. Fails on a logit that is NaN or
  /// +infinity (also as the result of penalties), and if every token is
  /// forbidden.
  Expected<int32_t> sample(std::span<const float> logits,
                           const SamplingParams &params,
                           std::span<const int32_t> prompt,
                           std::span<const int32_t> output, int64_t position,
                           std::span<const uint64_t> allowed = {});

  /// Returns the token of sample(), given only the `candidates` that a device
  /// has selected for requestFor(). The candidates' tokens are distinct.
  int32_t sampleAmong(std::span<const TokenLogit> candidates,
                      const SamplingParams &params, int64_t position);

  /// For a draft: sets `ranked` to the `count` likeliest tokens, or fewer if
  /// fewer are left, in the order in which sample() would choose them if the
  /// tokens before were forbidden. The first is the token of sample(). The
  /// noise is the same, so a draft with a similar distribution guesses the
  /// target's tokens. The confidence is the softmax of the values that order
  /// the tokens: the logits at temperature 0, else logit / temperature + noise.
  /// Clears `ranked` first but keeps its memory. Fails as sample() does.
  Status rank(std::span<const float> logits, const SamplingParams &params,
              std::span<const int32_t> prompt, std::span<const int32_t> output,
              int64_t position, int64_t count, std::vector<Candidate> &ranked,
              std::span<const uint64_t> allowed = {});

private:
  struct Scored {
    double logit;
    int32_t token;
  };

  Expected<int32_t> prepare(std::span<const float> logits,
                            const SamplingParams &params,
                            std::span<const int32_t> prompt,
                            std::span<const int32_t> output,
                            std::span<const uint64_t> allowed);
  Status load(std::span<const float> logits);
  void forbidOthers(std::span<const uint64_t> allowed);
  void applyBias(const SamplingParams &params);
  void applyPenalties(const SamplingParams &params,
                      std::span<const int32_t> prompt,
                      std::span<const int32_t> output);
  Expected<int32_t> largest() const;
  void filter(const SamplingParams &params, double top);
  template <typename Weight, typename Needed>
  void keepFirst(double top, Weight weight, Needed needed);
  void addNoise(uint64_t seed, int64_t position);
  int32_t draw(uint64_t seed, int64_t position) const;

  int64_t size;
  std::vector<Scored> candidates;   ///< ordered by token id
  std::vector<Scored> atEdge;       ///< candidates at the edge of a filter
  std::vector<int32_t> outputCount; ///< [token], all zero between calls
  std::vector<uint8_t> seen;        ///< [token], all zero between calls
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_SAMPLER_H
