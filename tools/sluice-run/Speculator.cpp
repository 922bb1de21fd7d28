//===- Speculator.cpp - guesses of a module's draft -----------------------===//
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

/// The draft's token behind prompt and output.
Expected<int32_t> Speculator::next(const SamplingParams &sampling,
                                   std::span<const int32_t> prompt,
                                   std::span<const int32_t> output) {
  std::vector<int32_t> tokens(prompt.begin(), prompt.end());
  tokens.insert(tokens.end(), output.begin(), output.end());
  // What the cache has of another continuation is replaced; the last token is
  // computed in any case, for its logits.
  auto same = std::mismatch(computed.begin(), computed.end(), tokens.begin(),
                            tokens.end());
  int64_t first = std::min<int64_t>(same.second - tokens.begin(),
                                    int64_t(tokens.size()) - 1);
  StepBatch batch(int64_t(tokens.size()) - first, 1);
  // A token that the draft has no row for is read as its last one: that makes
  // for a poor guess at worst.
  auto lastToken = static_cast<int32_t>(draft.info().vocabSize - 1);
  for (int64_t p = first; p < int64_t(tokens.size()); ++p)
    if (Status s = batch.add(id, p, std::min(tokens[p], lastToken),
                             p + 1 == int64_t(tokens.size()));
        !s.ok())
      return s;
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
