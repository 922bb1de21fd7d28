//===- SampleABI.h - kernels that draw tokens -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Processes an output's logits as its OutputRequest says. Several blocks search
// a part of the vocabulary each; a second kernel chooses among their results.
// The answer is exact, so it does not depend on the order of the blocks. The
// rules of KernelABI.h hold.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_SAMPLEABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_SAMPLEABI_H

#include "runtime/core/OutputRequest.h"
#include "runtime/device/cuda/kernels/KernelABI.h"

namespace sluice::cuda {

constexpr int32_t sampleThreads = 256;
/// The logits that a block searches.
constexpr int32_t samplePartTokens = 2048;

constexpr int32_t sampleParts(int32_t vocabulary) {
  return divideUp(vocabulary, samplePartTokens);
}

/// Counters for the values of each of the eight bytes of a candidate.
constexpr int32_t sampleByteValues = 256;
constexpr int32_t sampleCounters = 8 * sampleByteValues;

/// The counters have 32 bits each, and each warp has a number. Drawing takes
/// less.
constexpr int32_t sampleSharedBytes = (sampleCounters + sampleThreads / 32) * 4;

/// Returns the room for the results of an output's blocks, one part after the
/// other: the keys of as many candidates as are requested, or as the part has;
/// or the bits of a score and a token.
constexpr int64_t sampleFoundWords(int32_t vocabulary) {
  return int64_t{sampleParts(vocabulary)} * maxCandidates;
}

/// sluice_sample_search: grid (sampleParts(vocabulary), outputCapacity),
/// followed by sluice_sample_merge: grid (outputCapacity); both with blocks of
/// sampleThreads and sampleSharedBytes of shared memory. They skip outputs that
/// request neither a drawn token nor candidates, and those whose token is below
/// 0, since their greatest logit is not a finite number.
struct SampleArguments {
  const float *logits;           ///< [output][vocabulary]
  const OutputRequest *requests; ///< [output at the step's start]
  /// [output]: its number at the step's start.
  const int32_t *sources;
  /// [output]: before, the token of the greatest logit; after, the drawn token
  /// if one is requested.
  int32_t *tokens;
  /// [output][maxCandidates]: written where they are requested. The token after
  /// the last candidate is -1.
  TokenLogit *candidates;
  uint64_t *found; ///< [output][sampleFoundWords(vocabulary)]
  const int32_t *outputCount;
  int64_t vocabulary;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_SAMPLEABI_H
