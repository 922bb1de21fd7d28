//===- RequestSpec.cpp - what a user asks of the head ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/RequestSpec.h"

#include "runtime/core/CachePages.h"
#include "runtime/core/HeadLimits.h"

namespace sluice {

/// Checks what every rank checks of a request's frame. A rank would end the
/// pipeline over it; here only the request fails.
static Status validateFrame(const RequestSpec &spec, int64_t vocabSize) {
  for (const std::vector<int32_t> *tokens : {&spec.prompt, &spec.generated})
    for (int32_t token : *tokens)
      if (token < 0 || token >= vocabSize)
        return failure("request: token ", token, " is not among the model's ",
                       vocabSize);
  if (Status s = spec.sampling.validate(vocabSize); !s.ok())
    return s.withContext("request");
  if (spec.logProbabilities < -1 || spec.logProbabilities > vocabSize)
    return failure("request: ", spec.logProbabilities, " log-probabilities of ",
                   vocabSize, " tokens");
  if (spec.scoresPrompt && spec.logProbabilities < 0)
    return failure("request: the prompt is to be scored, without "
                   "log-probabilities");
  if (size_t bytes = spec.grammar.text().size();
      bytes > GrammarSource::maxBytes)
    return failure("request: the grammar has ", bytes, " bytes, more than ",
                   GrammarSource::maxBytes);
  return {};
}

Status RequestSpec::validate(const HeadLimits &limits) const {
  if (prompt.empty())
    return failure("request: the prompt is empty");
  int64_t known = knownTokens();
  if (known > limits.contextLength)
    return failure("request: the prompt has ", known, " tokens, the context ",
                   limits.contextLength);
  if (int64_t pages = CachePages::pagesFor(known); pages > limits.pages)
    return failure("request: the prompt's ", known, " tokens take ", pages,
                   " pages of the cache, which has ", limits.pages);
  return validateFrame(*this, limits.vocabSize);
}

} // namespace sluice
