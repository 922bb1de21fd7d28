//===- Speculator.h - guesses by a module's draft -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_SLUICE_RUN_SPECULATOR_H
#define SLUICE_TOOLS_SLUICE_RUN_SPECULATOR_H

#include "RunSession.h"
#include "runtime/core/Sampler.h"

#include <span>
#include <vector>

namespace sluice::run {

/// Guesses the continuation of a sequence with a module's draft. This is the
/// simplest form of speculation: a chain of guesses that is computed behind the
/// certain row in one step. It serves to execute a module with a draft and
/// compare it with a module without one; it is not fast.
class Speculator {
public:
  /// The number of guesses made at a time.
  static constexpr int64_t chain = 4;

  /// `id` is the sequence whose continuation is guessed.
  Speculator(RunSession &session, SequenceId id);

  /// Returns at most `count` guesses for the continuation of prompt and output;
  /// fewer if the draft's context ends. The draft computes the tokens of prompt
  /// and output that it has not computed yet. A guess is a token that the
  /// target has, too.
  Expected<std::vector<int32_t>> guess(const SamplingParams &sampling,
                                       std::span<const int32_t> prompt,
                                       std::span<const int32_t> output,
                                       int64_t count);

private:
  Expected<int32_t> next(const SamplingParams &sampling,
                         std::span<const int32_t> prompt,
                         std::span<const int32_t> output);

  interpreter::Interpreter &draft;
  SequenceId id;
  Sampler sampler;               ///< of the tokens that both models have
  std::vector<int32_t> computed; // tokens in the draft's cache
};

} // namespace sluice::run

#endif // SLUICE_TOOLS_SLUICE_RUN_SPECULATOR_H
