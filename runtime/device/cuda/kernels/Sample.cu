//===- Sample.cu - draws tokens -------------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The noise has the same bits as the host's: double precision, and a logarithm
// that is compiled for both. Few tokens need a logarithm. The winner's score is
// not below that of the token of the greatest logit; most tokens are ruled out
// by an upper bound of their score, which follows from their random word.
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

  /// Keeps the greater score; of equal scores, that of the lower token.
  SLUICE_MEMBER void takeBetter(double otherScore, int32_t otherToken) {
    if (otherScore < score || (otherScore == score && otherToken > token))
      return;
    score = otherScore;
    token = otherToken;
  }
};

/// Returns the best token of the block, in all threads.
SLUICE_DEVICE Drawn bestOfBlock(Drawn mine) {
#pragma unroll
  for (uint32_t mask = 16; mask > 0; mask /= 2) {
    double score = std::bit_cast<double>(
        shuffleXor64(std::bit_cast<uint64_t>(mine.score), mask));
    mine.takeBetter(score, shuffleXor(mine.token, mask));
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
    mine.takeBetter(scores[warp], tokens[warp]);
  return mine;
}

//===----------------------------------------------------------------------===//
// Choosing candidates
//===----------------------------------------------------------------------===//

/// Returns a key for a logit and token. Keys have the order of candidates:
/// ascending logits, with equal zeros, then descending tokens. No key is 0.
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

/// The keys of a part of the logits, which are read once: `count` keys, in the
/// registers of the block's threads.
class PartKeys {
public:
  const int32_t count;

  SLUICE_MEMBER PartKeys(const float *logits, int32_t firstToken, int32_t count)
      : count(count) {
#pragma unroll
    for (int32_t i = 0; i < held; ++i) {
      const int32_t at = i * sampleThreads + int32_t(threadIndex());
      keys[i] = at < count ? keyOf(logits[at], firstToken + at) : 0;
    }
  }

  /// Calls `use(key)` for each of the thread's keys. All threads make the same
  /// number of calls; missing keys are 0, which is below every key.
  template <typename Use> SLUICE_MEMBER void forEach(Use use) const {
#pragma unroll
    for (int32_t i = 0; i < held; ++i)
      use(keys[i]);
  }

private:
  static constexpr int32_t held = samplePartTokens / sampleThreads;
  uint64_t keys[held];
};

/// Like PartKeys, for keys in memory. Their number depends on the size of the
/// vocabulary, so they are read each time.
class FoundKeys {
public:
  const int32_t count;

  SLUICE_MEMBER FoundKeys(const uint64_t *from, int32_t count)
      : count(count), from(from) {}

  template <typename Use> SLUICE_MEMBER void forEach(Use use) const {
    constexpr int32_t together = 8; // loads in flight
    for (int32_t first = 0; first < count; first += together * sampleThreads) {
      uint64_t keys[together];
#pragma unroll
      for (int32_t i = 0; i < together; ++i) {
        const int32_t at = first + i * sampleThreads + int32_t(threadIndex());
        keys[i] = at < count ? from[at] : 0;
      }
#pragma unroll
      for (int32_t i = 0; i < together; ++i)
        use(keys[i]);
    }
  }

private:
  const uint64_t *from;
};

/// Selects the greatest of a block's keys, which are all different. It can do
/// so once, since it uses its counters in shared memory once. The least key
/// that stays is found byte by byte from the leading one on, each by a
/// histogram of the keys that begin with the bytes found so far.
///
/// A pass over eight keys of a thread is eight additions in shared memory, some
/// forty instructions that look for the edge, and one barrier: each byte has
/// counters of its own, cleared at the start, and each warp looks by itself.
///
/// Floats of similar magnitude have the same leading byte, so many lanes of a
/// warp add to one counter. ptxas compiles an addition of 1 whose result is not
/// used to ATOMS.POPC.INC: one instruction for all lanes with the same counter.
/// With a histogram for each warp, the same lanes would collide, and one more
/// barrier would be needed; finding lanes of the same byte by votes would take
/// eight votes a key.
template <typename Keys> class Selection {
public:
  SLUICE_MEMBER explicit Selection(const Keys &keys)
      : keys(keys), counters(reinterpret_cast<uint32_t *>(sharedMemory())),
        warpSums(reinterpret_cast<int32_t *>(counters + sampleCounters)) {}

  /// Calls `keep(place, key)` for the `wanted` greatest keys, or for all if
  /// there are no more. Places are in no particular order, but do not depend on
  /// the order of threads. All threads call it.
  template <typename Keep>
  SLUICE_MEMBER void choose(int32_t wanted, Keep keep) {
    const uint64_t minKey = wanted < keys.count ? minOf(wanted) : 1;
    int32_t place = firstPlaceOfWarp(minKey);
    keys.forEach([&](uint64_t key) {
      const uint32_t votes = voteOf(key >= minKey);
      if (key >= minKey)
        keep(place + bitCount(votes & ((1u << laneIndex()) - 1)), key);
      place += bitCount(votes);
    });
  }

private:
  /// The greatest byte for which at least `wanted` counted keys have this byte
  /// or a greater one.
  struct Edge {
    int32_t byte;
    int32_t above; ///< keys with a greater byte: fewer than wanted
    int32_t here;  ///< keys with this byte
  };

  const Keys &keys;
  uint32_t *counters; ///< [byte of a key][value of the byte]
  int32_t *warpSums;

  /// Returns a number above 0 that `wanted` keys reach or exceed. There must be
  /// more keys.
  SLUICE_MEMBER uint64_t minOf(int32_t wanted) {
    for (auto i = int32_t(threadIndex()); i < sampleCounters;
         i += sampleThreads)
      counters[i] = 0;
    syncThreads();
    // `known`: the bits of `minKey` that are final.
    uint64_t minKey = 0, known = 0;
    for (int32_t byte = 7; byte >= 0; --byte) {
      const int32_t shift = 8 * byte;
      uint32_t *counts = counters + byte * sampleByteValues;
      keys.forEach([&](uint64_t key) {
        if ((key & known) == minKey)
          incrementShared(counts + (key >> shift & 255));
      });
      syncThreads();
      const Edge edge = edgeOf(counts, wanted);
      minKey |= uint64_t(edge.byte) << shift;
      known |= uint64_t{255} << shift;
      wanted -= edge.above;
      if (edge.here == wanted)
        break;
    }
    return minKey;
  }

  /// Finds the edge in each warp: a lane has eight counters, lane 0 those of
  /// the greatest bytes.
  SLUICE_MEMBER static Edge edgeOf(const uint32_t *counts, int32_t wanted) {
    constexpr int32_t held = sampleByteValues / 32;
    const int32_t first = held * (31 - int32_t(laneIndex()));
    int32_t count[held], sum = 0;
#pragma unroll
    for (int32_t i = 0; i < held; i += 4) {
      const Vector4 four = load16(counts + first + i);
#pragma unroll
      for (int32_t j = 0; j < 4; ++j)
        sum += count[i + j] = int32_t(four.word[j]);
    }
    int32_t upTo = sum; // over the lanes up to this one
#pragma unroll
    for (uint32_t distance = 1; distance < 32; distance *= 2) {
      const int32_t other = shuffleFrom(upTo, laneIndex() - distance);
      upTo += laneIndex() >= distance ? other : 0;
    }
    Edge edge = {first + held - 1, upTo - sum, count[held - 1]};
#pragma unroll
    for (int32_t i = held - 2; i >= 0; --i)
      if (edge.above + edge.here < wanted)
        edge = {first + i, edge.above + edge.here, count[i]};
    const auto lane = uint32_t(bitCount(voteOf(upTo < wanted)));
    return {shuffleFrom(edge.byte, lane), shuffleFrom(edge.above, lane),
            shuffleFrom(edge.here, lane)};
  }

  /// Returns the place after those of all previous warps.
  SLUICE_MEMBER int32_t firstPlaceOfWarp(uint64_t minKey) {
    int32_t kept = 0;
    keys.forEach([&](uint64_t key) { kept += key >= minKey; });
#pragma unroll
    for (uint32_t mask = 16; mask > 0; mask /= 2)
      kept += shuffleXor(kept, mask);
    if (laneIndex() == 0)
      warpSums[warpIndex()] = kept;
    syncThreads();
    int32_t place = 0;
#pragma unroll
    for (int32_t warp = 0; warp < warps; ++warp)
      place += warp < int32_t(warpIndex()) ? warpSums[warp] : 0;
    return place;
  }
};

//===----------------------------------------------------------------------===//
// An output
//===----------------------------------------------------------------------===//

class OutputSampler {
public:
  SLUICE_MEMBER OutputSampler(const SampleArguments &arguments, int32_t output)
      : arg(arguments), output(output), vocabulary(int32_t(arg.vocabulary)),
        logits(arg.logits + output * arg.vocabulary),
        found(arg.found + output * sampleFoundWords(vocabulary)) {}

  /// Returns whether there is something to do, and reads what it is.
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
    const int32_t here = tokensOf(part);
    if (request.kind == OutputRequest::Drawn) {
      const Drawn best = bestOfBlock(drawn(first, here));
      if (threadIndex() == 0) {
        found[2 * part] = std::bit_cast<uint64_t>(best.score);
        found[2 * part + 1] = uint64_t(uint32_t(best.token));
      }
      return;
    }
    uint64_t *to = found + int64_t{part} * request.count;
    const PartKeys keys(logits + first, first, here);
    Selection(keys).choose(
        request.count, [=](int32_t place, uint64_t key) { to[place] = key; });
  }

  SLUICE_MEMBER void merge() const {
    const int32_t parts = sampleParts(vocabulary);
    if (request.kind == OutputRequest::Drawn) {
      Drawn best = nothing();
      for (int32_t i = int32_t(threadIndex()); i < parts; i += sampleThreads)
        best.takeBetter(std::bit_cast<double>(found[2 * i]),
                        int32_t(found[2 * i + 1]));
      best = bestOfBlock(best);
      if (threadIndex() == 0)
        arg.tokens[output] = best.token;
      return;
    }
    TokenLogit *to = arg.candidates + int64_t{output} * maxCandidates;
    // Each part has found as many as are wanted; only the last may have fewer.
    const int32_t last = tokensOf(parts - 1);
    const FoundKeys keys(found,
                         (parts - 1) * request.count +
                             (last < request.count ? last : request.count));
    Selection(keys).choose(request.count, [=](int32_t place, uint64_t key) {
      to[place] = candidateOf(key);
    });
    const int32_t chosen =
        keys.count < request.count ? keys.count : request.count;
    for (int32_t i = chosen + int32_t(threadIndex()); i < maxCandidates;
         i += sampleThreads)
      to[i] = {0, -1};
  }

private:
  const SampleArguments &arg;
  int32_t output, vocabulary;
  const float *logits;
  uint64_t *found;
  OutputRequest request;
  int32_t top = 0; ///< the token of the greatest logit

  SLUICE_MEMBER int32_t tokensOf(int32_t part) const {
    const int32_t rest = vocabulary - part * samplePartTokens;
    return rest < samplePartTokens ? rest : samplePartTokens;
  }

  SLUICE_MEMBER static Drawn nothing() { return {-1e300, 0x7fffffff}; }

  /// Returns the best of the thread's tokens among `count` tokens from `first`
  /// on, which is a multiple of four; nothing if none of them can be the best
  /// of all.
  SLUICE_MEMBER Drawn drawn(int32_t first, int32_t count) const {
    const double largest = logits[top];
    // An index that is known only at run time would put the words into memory.
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
        best.takeBetter(scaled + gumbel(words[j]), token + j);
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
