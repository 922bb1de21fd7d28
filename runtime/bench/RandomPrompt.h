//===- RandomPrompt.h - random prompts of requests ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_RANDOMPROMPT_H
#define SLUICE_RUNTIME_BENCH_RANDOMPROMPT_H

#include "runtime/bench/Workload.h"

#include <string>

namespace sluice::bench {

enum class PromptForm : uint8_t {
  Tokens, ///< random token ids
  Text,   ///< random English words, about one token each
};

struct PromptShape {
  PromptForm form = PromptForm::Tokens;
  /// The number of tokens at the beginning of prompts that are the same in all
  /// requests; a shorter prompt is a prefix of them.
  int64_t sharedPrefixTokens = 0;
  /// Ids are drawn from 0 to this, exclusive. 0: the backend's number.
  int64_t vocabularySize = 0;
};

/// Returns the promptTokens ids of the prompt of `spec`. A pure function of its
/// arguments; vocabularySize must be above 0. `workloadSeed` determines the
/// shared prefix.
std::vector<int32_t> promptTokens(const PromptShape &options,
                                  const BenchRequest &spec,
                                  uint64_t workloadSeed);

/// Returns the prompt as text: promptTokens words, separated by blanks.
std::string promptText(const PromptShape &options, const BenchRequest &spec,
                       uint64_t workloadSeed);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_RANDOMPROMPT_H
