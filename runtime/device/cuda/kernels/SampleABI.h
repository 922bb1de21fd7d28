//===- SampleABI.h - kernels that draw tokens -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is done with an output's logits is what its OutputRequest says. A
// vocabulary is searched by blocks, each of which has a part of it; a second
// kernel chooses among what they have found. The answer is exact, and so the
// same in whatever order. The rules of KernelABI.h hold.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_SAMPLEABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_SAMPLEABI_H

#include "runtime/core/OutputRequest.h"
#include "runtime/device/cuda/kernels/KernelABI.h"

namespace sluice::cuda {

constexpr int32_t sampleThreads = 256;
/// Logits that a block searches.
constexpr int32_t samplePartTokens = 2048;

constexpr int32_t sampleParts(int32_t vocabulary) {
  return divideUp(vocabulary, samplePartTokens);
}

/// Counters of the values of each of a candidate's eight bytes.
constexpr int32_t sampleByteValues = 256;
constexpr int32_t sampleCounters = 8 * sampleByteValues;

/// Of 32 bits each, and a number for each warp. Drawing takes less.
constexpr int32_t sampleSharedBytes = (sampleCounters + sampleThreads / 32) * 4;

/// What the blocks of an output find, one part behind the other: keys of as
/// many candidates as are wanted, or as the part has; or a score's bits and a
/// token.
constexpr int64_t sampleFoundWords(int32_t vocabulary) {
  return int64_t{sampleParts(vocabulary)} * maxCandidates;
}

/// sluice_sample_search: grid (sampleParts(vocabulary), outputCapacity), and
/// then sluice_sample_merge: grid (outputCapacity); blocks of sampleThreads,
/// sampleSharedBytes of shared memory. Outputs for which nothing is to be drawn
/// are left alone, and so are those whose token is below 0: their greatest
/// logit is no finite number.
struct SampleArguments {
  const float *logits;           ///< [output][vocabulary]
  const OutputRequest *requests; ///< [output at the step's begin]
  const int32_t *sources;        ///< [output]: its number at the step's begin
  /// [output]: in, the token of greatest logit; out, if one is to be drawn,
  /// that one.
  int32_t *tokens;
  /// [output][maxCandidates]: where they are to be given. Behind the last one
  /// the token is -1.
  TokenLogit *candidates;
  uint64_t *found; ///< [output][sampleFoundWords(vocabulary)]
  const int32_t *outputCount;
  int64_t vocabulary;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_SAMPLEABI_H
