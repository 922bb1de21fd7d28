//===- Sampler.cpp - chooses a token from logits --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Sampler.h"
#include "runtime/core/Gumbel.h"
#include "runtime/core/Random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <ranges>

namespace sluice {

namespace {

/// Returns whether the value is neither NaN nor +infinity.
bool isLogit(float logit) { return logit < HUGE_VALF; }

Status badLogit(int32_t token, double logit) {
  return failure("sampling: the logit of token ", token, " is ", logit);
}

Status allForbidden() { return failure("sampling: every token is forbidden"); }

/// Chooses the token of the largest logit in one pass: the common case of
/// greedy sampling with unchanged logits.
Expected<int32_t> largestOf(std::span<const float> logits) {
  float max = -HUGE_VALF;
  int32_t best = -1;
  for (size_t token = 0; token < logits.size(); ++token) {
    // Mostly this is the only test for a logit.
    if (logits[token] <= max)
      continue;
    if (!isLogit(logits[token]))
      return badLogit(static_cast<int32_t>(token), logits[token]);
    max = logits[token];
    best = static_cast<int32_t>(token);
  }
  if (best < 0)
    return allForbidden();
  return best;
}

/// Returns the least scaled logit, (logit - largest) / temperature, that min-p
/// keeps.
double minScore(const SamplingParams &params) {
  return params.minP > 0 ? std::log(params.minP)
                         : std::numeric_limits<double>::lowest();
}

} // namespace

OutputRequest requestFor(const SamplingParams &params, int64_t position) {
  OutputRequest request;
  if (params.takesLargest()) {
    request.kind = OutputRequest::Greatest;
    return request;
  }
  if (params.greedy() || !params.logitBias.empty() || params.hasPenalties())
    return request;
  const bool hasTopK = params.topK > 0;
  if (!hasTopK && params.minP == 0) {
    if (params.topP == 1)
      request.kind = OutputRequest::Drawn;
  } else if (params.topK <= maxCandidates) {
    request.kind = OutputRequest::Candidates;
    request.count = hasTopK ? static_cast<int32_t>(params.topK) : maxCandidates;
    request.minScore = minScore(params);
    request.wantsAllAbove = !hasTopK;
  }
  request.temperature = params.temperature;
  request.seed = params.seed;
  request.position = position;
  return request;
}

bool areLogits(std::span<const float> logits) {
  return std::ranges::all_of(logits, isLogit) &&
         std::ranges::any_of(logits,
                             [](float logit) { return logit > -HUGE_VALF; });
}

Sampler::Sampler(int64_t vocabSize)
    : size(vocabSize), outputCount(static_cast<size_t>(vocabSize)),
      seen(static_cast<size_t>(vocabSize)) {
  assert(vocabSize >= 1 && vocabSize <= std::numeric_limits<int32_t>::max());
  candidates.reserve(static_cast<size_t>(vocabSize));
  atEdge.reserve(static_cast<size_t>(vocabSize));
}

Expected<int32_t> Sampler::sample(std::span<const float> logits,
                                  const SamplingParams &params,
                                  std::span<const int32_t> prompt,
                                  std::span<const int32_t> output,
                                  int64_t position,
                                  std::span<const uint64_t> allowed) {
  if (params.takesLargest() && allowed.empty())
    return largestOf(logits);
  Expected<int32_t> best = prepare(logits, params, prompt, output, allowed);
  if (!best || params.greedy())
    return best;
  return draw(params.seed, position);
}

int32_t Sampler::sampleAmong(std::span<const TokenLogit> chosen,
                             const SamplingParams &params, int64_t position) {
  assert(!chosen.empty() && !params.greedy());
  candidates.clear();
  for (const TokenLogit &each : chosen)
    candidates.push_back({static_cast<double>(each.logit), each.token});
  std::sort(candidates.begin(), candidates.end(),
            [](const Scored &a, const Scored &b) { return a.token < b.token; });
  double top = candidates.front().logit;
  for (const Scored &candidate : candidates)
    top = std::max(top, candidate.logit);
  filter(params, top);
  return draw(params.seed, position);
}

Status Sampler::rank(std::span<const float> logits,
                     const SamplingParams &params,
                     std::span<const int32_t> prompt,
                     std::span<const int32_t> output, int64_t position,
                     int64_t count, std::vector<Candidate> &ranked,
                     std::span<const uint64_t> allowed) {
  ranked.clear();
  Expected<int32_t> best = prepare(logits, params, prompt, output, allowed);
  if (!best)
    return best.status();
  if (params.greedy())
    std::erase_if(candidates,
                  [](const Scored &each) { return each.logit == -HUGE_VAL; });
  else
    addNoise(params.seed, position);
  auto before = [](const Scored &a, const Scored &b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  };
  auto end = candidates.begin() +
             std::min(count, static_cast<int64_t>(candidates.size()));
  std::partial_sort(candidates.begin(), end, candidates.end(), before);
  double top = candidates.front().logit;
  double sum = 0;
  for (const Scored &candidate : candidates)
    sum += std::exp(candidate.logit - top);
  for (auto each = candidates.begin(); each != end; ++each)
    ranked.push_back(
        {each->token, static_cast<float>(std::exp(each->logit - top) / sum)});
  return {};
}

/// Sets `candidates` to the tokens that can be chosen. Returns the token of the
/// largest logit, which at temperature 0 is the result.
Expected<int32_t> Sampler::prepare(std::span<const float> logits,
                                   const SamplingParams &params,
                                   std::span<const int32_t> prompt,
                                   std::span<const int32_t> output,
                                   std::span<const uint64_t> allowed) {
  SLUICE_RETURN_IF_ERROR(load(logits));
  if (!allowed.empty())
    forbidOthers(allowed);
  applyBias(params);
  if (params.hasPenalties())
    applyPenalties(params, prompt, output);
  Expected<int32_t> best = largest();
  if (!best || params.greedy())
    return best;
  filter(params, candidates[*best].logit);
  return best;
}

Status Sampler::load(std::span<const float> logits) {
  assert(static_cast<int64_t>(logits.size()) == size);
  candidates.clear();
  for (int32_t token = 0; token < size; ++token) {
    if (!isLogit(logits[token]))
      return badLogit(token, logits[token]);
    candidates.push_back({static_cast<double>(logits[token]), token});
  }
  return {};
}

void Sampler::forbidOthers(std::span<const uint64_t> allowed) {
  for (Scored &candidate : candidates) {
    size_t word = static_cast<size_t>(candidate.token) / 64;
    if (word >= allowed.size() ||
        ((allowed[word] >> (candidate.token % 64)) & 1) == 0)
      candidate.logit = -HUGE_VAL;
  }
}

void Sampler::applyBias(const SamplingParams &params) {
  for (const auto &[token, bias] : params.logitBias)
    if (token < size)
      candidates[token].logit += bias;
}

void Sampler::applyPenalties(const SamplingParams &params,
                             std::span<const int32_t> prompt,
                             std::span<const int32_t> output) {
  auto known = [this](std::span<const int32_t> tokens) {
    return tokens |
           std::views::filter([this](int32_t token) { return token < size; });
  };
  for (std::span<const int32_t> tokens : {prompt, output})
    for (int32_t token : known(tokens)) {
      if (std::exchange(seen[token], 1))
        continue;
      double &logit = candidates[token].logit;
      logit = logit > 0 ? logit / params.repetitionPenalty
                        : logit * params.repetitionPenalty;
    }
  for (std::span<const int32_t> tokens : {prompt, output})
    for (int32_t token : known(tokens))
      seen[token] = 0;

  for (int32_t token : known(output))
    ++outputCount[token];
  for (int32_t token : known(output))
    if (int32_t count = std::exchange(outputCount[token], 0))
      candidates[token].logit -=
          params.frequencyPenalty * count + params.presencePenalty;
}

Expected<int32_t> Sampler::largest() const {
  const Scored *best = &candidates.front();
  for (const Scored &candidate : candidates)
    if (candidate.logit > best->logit)
      best = &candidate;
  if (best->logit == -HUGE_VAL)
    return allForbidden();
  if (best->logit == HUGE_VAL)
    return badLogit(best->token, best->logit);
  return best->token;
}

/// Keeps the candidates that the filters allow, in their order, and scales
/// their logits. `top` is the largest logit.
void Sampler::filter(const SamplingParams &params, double top) {
  // Top-k precedes the division, which can make different logits equal.
  if (params.topK > 0 && params.topK < static_cast<int64_t>(candidates.size()))
    keepFirst(
        top, [](double) { return 1.0; },
        [&](double) { return static_cast<double>(params.topK); });
  for (Scored &candidate : candidates)
    candidate.logit = scaledLogit(candidate.logit, top, params.temperature);
  std::erase_if(candidates, [min = minScore(params)](const Scored &candidate) {
    return candidate.logit < min;
  });
  if (params.topP < 1)
    keepFirst(
        0, [](double logit) { return std::exp(logit); },
        [&](double total) { return params.topP * total; });
}

/// Keeps the most probable candidates, lower ids first among equals, up to the
/// one with which their weights reach needed(total weight). Their order, in
/// which sums are added, stays. Candidates are counted in narrow ranges of
/// logits, so that only those in the range with the edge are sorted. `top` is
/// the largest logit.
template <typename Weight, typename Needed>
void Sampler::keepFirst(double top, Weight weight, Needed needed) {
  constexpr int64_t ranges = 1024;
  constexpr double rangesPerUnit = 32;
  auto rangeOf = [=](const Scored &candidate) {
    return static_cast<int64_t>(
        std::min((top - candidate.logit) * rangesPerUnit, ranges - 1.0));
  };
  std::array<double, ranges> sums = {};
  for (const Scored &candidate : candidates)
    sums[rangeOf(candidate)] += weight(candidate.logit);
  double target = needed(std::accumulate(sums.begin(), sums.end(), 0.0));
  int64_t edge = 0;
  double sum = 0;
  while (edge < ranges - 1 && sum + sums[edge] < target)
    sum += sums[edge++];

  auto before = [](const Scored &a, const Scored &b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  };
  atEdge.clear();
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(atEdge),
               [&](const Scored &each) { return rangeOf(each) == edge; });
  std::sort(atEdge.begin(), atEdge.end(), before);
  auto end = atEdge.begin();
  while (end != atEdge.end() && sum < target)
    sum += weight((end++)->logit);
  std::erase_if(candidates, [&](const Scored &each) {
    int64_t range = rangeOf(each);
    return range > edge || (range == edge && (end == atEdge.begin() ||
                                              before(*(end - 1), each)));
  });
}

/// Adds the noise to the logits, which gives the scores that draw() compares.
void Sampler::addNoise(uint64_t seed, int64_t position) {
  std::array<uint32_t, 4> words = {};
  int64_t group = -1;
  for (Scored &candidate : candidates) {
    if (candidate.token / 4 != group) {
      group = candidate.token / 4;
      words = tokenNoise(seed, position, static_cast<uint32_t>(group));
    }
    candidate.logit += gumbel(words[candidate.token % 4]);
  }
}

int32_t Sampler::draw(uint64_t seed, int64_t position) const {
  std::array<uint32_t, 4> words = {};
  int64_t group = -1;
  double bestScore = -HUGE_VAL;
  int32_t bestToken = candidates.front().token;
  for (const Scored &candidate : candidates) {
    if (candidate.token / 4 != group) {
      group = candidate.token / 4;
      words = tokenNoise(seed, position, static_cast<uint32_t>(group));
    }
    uint32_t word = words[candidate.token % 4];
    if (candidate.logit + gumbelBound(word) < bestScore)
      continue;
    double score = candidate.logit + gumbel(word);
    if (score > bestScore ||
        (score == bestScore && candidate.token < bestToken)) {
      bestScore = score;
      bestToken = candidate.token;
    }
  }
  return bestToken;
}

} // namespace sluice
