//===- SampleCases.cpp - logits to draw tokens of -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/bench/Cases.h"
#include "runtime/device/cuda/kernels/Kernels.h"

#include <algorithm>
#include <random>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::bench;

KernelCase bench::makeSample(Lab &lab, int32_t vocabulary, int32_t outputs) {
  const auto width = static_cast<size_t>(vocabulary);
  const auto count = static_cast<size_t>(outputs);
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0, 4);
  std::vector<float> logits(count * width);
  std::generate(logits.begin(), logits.end(), [&] { return normal(random); });
  std::vector<OutputRequest> requests;
  std::vector<int32_t> sources;
  // Tokens, and behind them candidates.
  std::vector<int32_t> results(count * (1 + 2 * mostCandidates));
  for (int32_t output = 0; output < outputs; ++output) {
    const bool isDrawn = output % 2 == 0;
    requests.push_back(
        {.kind = isDrawn ? OutputRequest::Drawn : OutputRequest::Candidates,
         .count = isDrawn ? 0 : 40 + output,
         .temperature = 0.7 + 0.1 * output,
         .seed = random(),
         .position = output});
    sources.push_back(output);
    auto first = logits.begin() + int64_t{output} * vocabulary;
    results[static_cast<size_t>(output)] = static_cast<int32_t>(
        std::max_element(first, first + vocabulary) - first);
  }
  KernelCase made;
  made.output = lab.upload(std::span<const int32_t>(results));
  made.outputFloats = results.size();
  SampleArguments arguments = {};
  auto upload = [&]<typename T>(const std::vector<T> &values) {
    return reinterpret_cast<const T *>(lab.upload(std::span<const T>(values)));
  };
  arguments.logits = upload(logits);
  arguments.requests = upload(requests);
  arguments.sources = upload(sources);
  arguments.outputCount = upload(std::vector{outputs});
  arguments.tokens = reinterpret_cast<int32_t *>(made.output);
  arguments.candidates =
      reinterpret_cast<TokenLogit *>(made.output + count * sizeof(int32_t));
  arguments.found = reinterpret_cast<uint64_t *>(
      lab.zeros(count * static_cast<size_t>(sampleFoundWords(vocabulary)) * 8));
  arguments.vocabulary = vocabulary;
  const auto wide = static_cast<uint32_t>(outputs);
  made.nodes.push_back(
      lab.node("sluice_sample_search",
               {static_cast<uint32_t>(sampleParts(vocabulary)), wide},
               sampleThreads, sampleSharedBytes, arguments));
  made.nodes.push_back(lab.node("sluice_sample_merge", {wide}, sampleThreads,
                                sampleSharedBytes, arguments));
  return made;
}
