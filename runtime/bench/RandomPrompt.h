//===- RandomPrompt.h - what a request's prompt is made of ----------------===//
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
  Text,   ///< random English words, about a token each
};

struct PromptShape {
  PromptForm form = PromptForm::Tokens;
  /// So many of a prompt's tokens, its first ones, are the same in all
  /// requests; a shorter prompt is a prefix of them.
  int64_t sharedPrefixTokens = 0;
  /// Ids are drawn from 0 to this, exclusive. 0: as the backend knows it.
  int64_t vocabularySize = 0;
};

/// The prompt of `spec`: promptTokens ids. A function of the arguments alone;
/// vocabularySize must be above 0. `workloadSeed` makes the shared prefix.
std::vector<int32_t> promptTokens(const PromptShape &options,
                                  const BenchRequest &spec,
                                  uint64_t workloadSeed);

/// The same as text: promptTokens words, a blank between each two.
std::string promptText(const PromptShape &options, const BenchRequest &spec,
                       uint64_t workloadSeed);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_RANDOMPROMPT_H
