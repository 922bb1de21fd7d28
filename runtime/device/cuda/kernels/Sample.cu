//===- Sample.cu - draws tokens -------------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Noise is the host's, to the bit: double precision, and a logarithm that is
// compiled for both. Few tokens need one: the token of greatest logit has a
// score that the winner's is not below, and most tokens' is by a bound that
// their random word has.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Gumbel.h"
#include "runtime/core/Random.h"
#include "runtime/device/cuda/kernels/Kernels.h"
#include "runtime/device/cuda/kernels/Primitives.cuh"

using namespace sluice;
using namespace sluice::cuda;

namespace {

constexpr int32_t warps = sampleThreads / 32;

SLUICE_DEVICE int32_t bitCount(uint32_t bits) {
  bits = bits - (bits >> 1 & 0x55555555u);
  bits = (bits & 0x33333333u) + (bits >> 2 & 0x33333333u);
  return int32_t(((bits + (bits >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24);
}

SLUICE_DEVICE uint64_t shuffleXor64(uint64_t value, uint32_t mask) {
  uint32_t low = shuffleXor(uint32_t(value), mask);
  uint32_t high = shuffleXor(uint32_t(value >> 32), mask);
  return uint64_t(high) << 32 | low;
}

//===----------------------------------------------------------------------===//
// Drawing
//===----------------------------------------------------------------------===//

struct Drawn {
  double score;
  int32_t token;

  /// The greater score; of equal ones the lesser token.
  SLUICE_MEMBER void meet(double otherScore, int32_t otherToken) {
    if (otherScore < score || (otherScore == score && otherToken > token))
      return;
    score = otherScore;
    token = otherToken;
  }
};

/// The block's best, in all threads.
SLUICE_DEVICE Drawn bestOfBlock(Drawn mine) {
#pragma unroll
  for (uint32_t mask = 16; mask > 0; mask /= 2) {
    double score = std::bit_cast<double>(
        shuffleXor64(std::bit_cast<uint64_t>(mine.score), mask));
    mine.meet(score, shuffleXor(mine.token, mask));
  }
  auto *scores = reinterpret_cast<double *>(sharedMemory());
  auto *tokens = reinterpret_cast<int32_t *>(scores + warps);
  syncThreads();
  if (laneIndex() == 0) {
    scores[warpIndex()] = mine.score;
    tokens[warpIndex()] = mine.token;
  }
  syncThreads();
#pragma unroll
  for (int32_t warp = 0; warp < warps; ++warp)
    mine.meet(scores[warp], tokens[warp]);
  return mine;
}

//===----------------------------------------------------------------------===//
// Choosing candidates
//===----------------------------------------------------------------------===//

/// A key for each logit and token, in the order of candidates: that of the
/// numbers, zeros being equal, then descending tokens. None is 0.
SLUICE_DEVICE uint64_t keyOf(float logit, int32_t token) {
  uint32_t bits = bitsOfFloat(logit + 0.0f);
  bits = bits >> 31 ? ~bits : bits | 0x80000000u;
  return uint64_t(bits) << 32 | uint32_t(~token);
}

SLUICE_DEVICE TokenLogit candidateOf(uint64_t key) {
  uint32_t bits = uint32_t(key >> 32);
  bits = bits >> 31 ? bits & 0x7fffffffu : ~bits;
  return {floatOfBits(bits), int32_t(~uint32_t(key))};
}

/// Chooses the greatest of some keys, which a block goes through again and
/// again: they are different, but for those that are 0 and are none.
template <typename KeyAt> class Selection {
public:
  /// `keyAt(i)`: one of `keys` keys.
  SLUICE_MEMBER Selection(KeyAt keyAt, int32_t keys)
      : keyAt(keyAt), keys(keys),
        sums(reinterpret_cast<int32_t *>(sharedMemory())) {}

  /// Calls `keep(place, key)` for the `wanted` greatest, in no order, or for
  /// all that there are, and returns how many these are. By all threads.
  template <typename Keep>
  SLUICE_MEMBER int32_t choose(int32_t wanted, Keep keep) {
    const uint64_t least = leastOf(wanted);
    int32_t place = 0, all = 0;
    // Where the warp's begin.
    countFrom(least, place, all);
    for (int32_t first = 0; first < keys; first += sampleThreads) {
      const int32_t i = first + int32_t(threadIndex());
      const uint64_t key = i < keys ? keyAt(i) : 0;
      const uint32_t votes = voteOf(key >= least);
      if (key >= least)
        keep(place + bitCount(votes & ((1u << laneIndex()) - 1)), key);
      place += bitCount(votes);
    }
    return all;
  }

private:
  KeyAt keyAt;
  int32_t keys;
  int32_t *sums;

  /// The greatest number that so many keys are not below, or 1: bit by bit,
  /// until it is seen which keys these are.
  SLUICE_MEMBER uint64_t leastOf(int32_t wanted) {
    uint64_t least = 0;
    for (int32_t bit = 63; bit >= 0; --bit) {
      const uint64_t more = least | uint64_t{1} << bit;
      int32_t before = 0, all = 0;
      countFrom(more, before, all);
      if (all >= wanted)
        least = more;
      if (all == wanted)
        break;
    }
    return least > 0 ? least : 1;
  }

  /// How many keys are not below `least`, of all and of the warps before.
  SLUICE_MEMBER void countFrom(uint64_t least, int32_t &before, int32_t &all) {
    int32_t mine = 0;
    for (int32_t i = int32_t(threadIndex()); i < keys; i += sampleThreads)
      mine += keyAt(i) >= least;
#pragma unroll
    for (uint32_t mask = 16; mask > 0; mask /= 2)
      mine += shuffleXor(mine, mask);
    syncThreads(); // The last sums have been read.
    if (laneIndex() == 0)
      sums[warpIndex()] = mine;
    syncThreads();
#pragma unroll
    for (int32_t warp = 0; warp < warps; ++warp) {
      before += warp < int32_t(warpIndex()) ? sums[warp] : 0;
      all += sums[warp];
    }
  }
};

template <typename KeyAt>
SLUICE_DEVICE Selection<KeyAt> selectionOf(KeyAt keyAt, int32_t keys) {
  return Selection<KeyAt>(keyAt, keys);
}

//===----------------------------------------------------------------------===//
// An output
//===----------------------------------------------------------------------===//

class OutputSampler {
public:
  SLUICE_MEMBER OutputSampler(const SampleArguments &arguments, int32_t output)
      : arg(arguments), output(output), vocabulary(int32_t(arg.vocabulary)),
        logits(arg.logits + output * arg.vocabulary),
        found(arg.found + output * sampleFoundWords(vocabulary)) {}

  /// Whether there is something to do; then what is done is known.
  SLUICE_MEMBER bool begin() {
    if (output >= *arg.outputCount)
      return false;
    request = arg.requests[arg.sources[output]];
    top = arg.tokens[output];
    return top >= 0 && (request.kind == OutputRequest::Drawn ||
                        request.kind == OutputRequest::Candidates);
  }

  SLUICE_MEMBER void search(int32_t part) const {
    const int32_t first = part * samplePartTokens;
    const int32_t here = vocabulary - first < samplePartTokens
                             ? vocabulary - first
                             : samplePartTokens;
    uint64_t *to = found + int64_t{part} * mostCandidates;
    if (request.kind == OutputRequest::Drawn) {
      const Drawn best = bestOfBlock(drawn(first, here));
      if (threadIndex() == 0) {
        to[0] = std::bit_cast<uint64_t>(best.score);
        to[1] = uint64_t(uint32_t(best.token));
      }
      return;
    }
    const float *from = logits + first;
    int32_t chosen =
        selectionOf([=](int32_t i) { return keyOf(from[i], first + i); }, here)
            .choose(request.count,
                    [=](int32_t place, uint64_t key) { to[place] = key; });
    for (int32_t i = chosen + int32_t(threadIndex()); i < mostCandidates;
         i += sampleThreads)
      to[i] = 0;
  }

  SLUICE_MEMBER void merge() const {
    const int32_t parts = sampleParts(vocabulary);
    const uint64_t *from = found;
    if (request.kind == OutputRequest::Drawn) {
      Drawn best = nothing();
      for (int32_t i = int32_t(threadIndex()); i < parts; i += sampleThreads)
        best.meet(std::bit_cast<double>(from[i * mostCandidates]),
                  int32_t(from[i * mostCandidates + 1]));
      best = bestOfBlock(best);
      if (threadIndex() == 0)
        arg.tokens[output] = best.token;
      return;
    }
    TokenLogit *to = arg.candidates + int64_t{output} * mostCandidates;
    int32_t chosen =
        selectionOf([=](int32_t i) { return from[i]; }, parts * mostCandidates)
            .choose(request.count, [=](int32_t place, uint64_t key) {
              to[place] = candidateOf(key);
            });
    for (int32_t i = chosen + int32_t(threadIndex()); i < mostCandidates;
         i += sampleThreads)
      to[i] = {0, -1};
  }

private:
  const SampleArguments &arg;
  int32_t output, vocabulary;
  const float *logits;
  uint64_t *found;
  OutputRequest request;
  int32_t top = 0; ///< the token of greatest logit

  SLUICE_MEMBER static Drawn nothing() { return {-1e300, 0x7fffffff}; }

  /// The best of the thread's among `count` tokens from `first` on, which is a
  /// multiple of four; nothing where none can be the best of all.
  SLUICE_MEMBER Drawn drawn(int32_t first, int32_t count) const {
    const double largest = logits[top];
    // An index that is known at run time alone would put the words into memory.
    const auto noise =
        tokenNoise(request.seed, request.position, uint32_t(top) / 4);
    const uint32_t low = top % 2 == 0 ? noise[0] : noise[1];
    const uint32_t high = top % 2 == 0 ? noise[2] : noise[3];
    const double floor = gumbel(top % 4 < 2 ? low : high);
    Drawn best = nothing();
    for (int32_t i = int32_t(threadIndex()) * 4; i < count;
         i += sampleThreads * 4) {
      const int32_t token = first + i;
      const auto words =
          tokenNoise(request.seed, request.position, uint32_t(token) / 4);
#pragma unroll
      for (int32_t j = 0; j < 4; ++j) {
        if (i + j >= count)
          break;
        const double scaled =
            scaledLogit(logits[token + j], largest, request.temperature);
        if (scaled + gumbelBound(words[j]) < floor)
          continue;
        best.meet(scaled + gumbel(words[j]), token + j);
      }
    }
    return best;
  }
};

} // namespace

extern "C" SLUICE_KERNEL(sampleThreads)
    sluice_sample_search(const SampleArguments arguments) {
  launchDependents();
  waitForPrior();
  OutputSampler sampler(arguments, int32_t(blockY()));
  if (sampler.begin())
    sampler.search(int32_t(blockX()));
}

extern "C" SLUICE_KERNEL(sampleThreads)
    sluice_sample_merge(const SampleArguments arguments) {
  launchDependents();
  waitForPrior();
  OutputSampler sampler(arguments, int32_t(blockX()));
  if (sampler.begin())
    sampler.merge();
}
