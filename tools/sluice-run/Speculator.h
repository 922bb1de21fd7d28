//===- Speculator.h - guesses of a module's draft -------------------------===//
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

/// Guesses what follows a sequence, with a module's draft: the plainest
/// speculation there is, a chain that is computed behind the certain row in one
/// step. It exists so that a module with a draft can be executed and compared
/// with one that has none; it is not fast.
class Speculator {
public:
  /// Guesses drafted at a time.
  static constexpr int64_t chain = 4;

  /// `id` names the sequence whose continuation is guessed.
  Speculator(RunSession &session, SequenceId id);

  /// At most `count` guesses for what follows prompt and output, which the
  /// draft computes as far as it has not done so. Fewer where its context ends;
  /// of tokens that the target has as well.
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
  Sampler sampler; ///< of the tokens that draft and target both have
  std::vector<int32_t> computed; // tokens in the draft's cache
};

} // namespace sluice::run

#endif // SLUICE_TOOLS_SLUICE_RUN_SPECULATOR_H
