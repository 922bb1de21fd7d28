//===- Speculator.cpp - guesses by a module's draft -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Speculator.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::run;

Speculator::Speculator(RunSession &session, SequenceId id)
    : draft(*session.draft()), id(id),
      sampler(std::min(session.vocabSize(), draft.info().vocabSize)) {}

/// Returns the draft's token after prompt and output.
Expected<int32_t> Speculator::next(const SamplingParams &sampling,
                                   std::span<const int32_t> prompt,
                                   std::span<const int32_t> output) {
  std::vector<int32_t> tokens(prompt.begin(), prompt.end());
  tokens.insert(tokens.end(), output.begin(), output.end());
  // Cached tokens of another continuation are replaced. The last token is
  // always computed, for its logits.
  auto same = std::mismatch(computed.begin(), computed.end(), tokens.begin(),
                            tokens.end());
  int64_t first = std::min<int64_t>(same.second - tokens.begin(),
                                    int64_t(tokens.size()) - 1);
  StepBatch batch(int64_t(tokens.size()) - first, 1);
  // A token for which the draft has no row is replaced by its last token. At
  // worst that makes a poor guess.
  auto lastToken = static_cast<int32_t>(draft.info().vocabSize - 1);
  for (int64_t p = first; p < int64_t(tokens.size()); ++p)
    SLUICE_RETURN_IF_ERROR(batch.add(id, p, std::min(tokens[p], lastToken),
                                     p + 1 == int64_t(tokens.size())));
  Expected<interpreter::RowData> logits = draft.step(batch);
  if (!logits)
    return logits.status();
  computed = tokens;
  return sampler.sample(logits->row(0).first(size_t(sampler.vocabSize())),
                        sampling, prompt, output, int64_t(tokens.size()));
}

Expected<std::vector<int32_t>>
Speculator::guess(const SamplingParams &sampling,
                  std::span<const int32_t> prompt,
                  std::span<const int32_t> output, int64_t count) {
  std::vector<int32_t> path(output.begin(), output.end());
  int64_t room =
      draft.info().contextLength - int64_t(prompt.size() + output.size());
  count = std::min(count, room);
  for (int64_t i = 0; i < count; ++i) {
    Expected<int32_t> token = next(sampling, prompt, path);
    if (!token)
      return token.status();
    path.push_back(*token);
  }
  return std::vector<int32_t>(path.begin() + output.size(), path.end());
}
