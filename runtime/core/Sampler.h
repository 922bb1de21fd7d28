//===- Sampler.h - from logits to a token ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The token is a pure function of the logits, the tokens before it, the
// parameters, the seed and the position. In order (the order is vLLM's):
//
//   1. logit bias is added
//   2. penalties: repetition, then frequency, then presence
//   3. temperature 0: the largest logit wins, and that is all
//   4. top-k; of tokens with equal logits the lowest ids stay
//   5. division by the temperature
//   6. min-p, against the most probable token: which of the two filters comes
//      first makes no difference
//   7. top-p, over what these left, renormalised
//   8. of what is left, the token with the largest logit + noise wins
//
// The noise is Gumbel's, -log(-log(u)), with u from tokenNoise(seed, position)
// for each token id: this draws from the softmax of the logits. As each token
// has its own noise, two models that share seed and position and have similar
// distributions mostly draw the same token, which is what makes guesses of a
// draft model come true; one random number for the whole distribution would not
// do that.
//
// All arithmetic after the logits is in double precision. Of filters and noise
// the order of the logits that come in makes no difference, and neither do
// those that a filter leaves out: a device may do a part of it (OutputRequest).
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

/// What a device can give for sample() with these parameters, where nothing
/// else reads logits and no token is forbidden.
OutputRequest requestFor(const SamplingParams &params, int64_t position);

/// Whether logits are such that a token can be chosen by them: none is NaN or
/// +infinity, and not all are -infinity.
bool areLogits(std::span<const float> logits);

/// Chooses tokens. Holds working memory for one vocabulary, taken at the start,
/// and no state between calls. Thread-compatible.
class Sampler {
public:
  explicit Sampler(int64_t vocabSize);

  int64_t vocabSize() const { return size; }

  /// The token at `position` (that of the token to be chosen: the number of
  /// tokens before it). `logits[vocabSize]`; `prompt` and `output` are the
  /// tokens before, read by penalties only; `params` have been validated. What
  /// these say of tokens from vocabSize on counts for nothing: a draft can have
  /// fewer than the target whose text it continues.
  /// `allowed` has a bit for each token that can be chosen, 64 to a word,
  /// others beyond its end cannot; empty: all can. Errors: a logit that is NaN
  /// or +infinity (or becomes it by penalties), or every token forbidden.
  Expected<int32_t> sample(std::span<const float> logits,
                           const SamplingParams &params,
                           std::span<const int32_t> prompt,
                           std::span<const int32_t> output, int64_t position,
                           std::span<const uint64_t> allowed = {});

  /// What sample() gives for logits of which a device has chosen `candidates`,
  /// as requestFor() had it. They are of different tokens.
  int32_t sampleAmong(std::span<const TokenLogit> candidates,
                      const SamplingParams &params, int64_t position);

  /// For a draft: the `count` likeliest tokens in the order in which sample()
  /// would choose them if those before were forbidden; fewer where fewer are
  /// left. `ranked` is cleared first and keeps its room. Its first token is
  /// that of sample(), and the noise is the same, so that a draft with a
  /// similar distribution guesses what the target will draw. The confidence is
  /// the softmax of what the tokens are ordered by: the logits where the
  /// temperature is 0, logit / temperature + noise otherwise. Errors: as
  /// sample().
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
  std::vector<Scored> candidates;   ///< by token id
  std::vector<Scored> atEdge;       ///< of a filter
  std::vector<int32_t> outputCount; ///< [token], all zero between calls
  std::vector<uint8_t> seen;        ///< [token], all zero between calls
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_SAMPLER_H
