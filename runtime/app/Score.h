//===- Score.h - how probable a model finds a text ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_SCORE_H
#define SLUICE_RUNTIME_APP_SCORE_H

#include "runtime/pipeline/InlinePipeline.h"

#include <string>

namespace sluice::app {

/// How probable a model finds the tokens of a text.
struct Score {
  std::vector<double> logProbabilities; // of tokens 1..n-1
  double meanNll = 0;

  double perplexity() const;
};

/// Computes each token's probability given those before it (teacher forcing).
/// There are at least two tokens. If the user interrupts it, the error is
/// "interrupted".
Expected<Score> scoreTokens(pipeline::InlinePipeline &model,
                            std::span<const int32_t> tokens);

/// Return the score as one JSON object, and as one line for people.
std::string toJson(const Score &score, std::span<const int32_t> tokens);
std::string summary(const Score &score);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_SCORE_H
