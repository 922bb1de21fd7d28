//===- TokenSink.h - where a request's tokens go --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_TOKENSINK_H
#define SLUICE_RUNTIME_PIPELINE_TOKENSINK_H

#include "runtime/base/Status.h"
#include "runtime/core/Scheduler.h"

namespace sluice::pipeline {

/// What became of a request next: a token, or its end, behind which nothing
/// comes.
struct TokenItem {
  enum class Kind : uint8_t {
    Token,
    Finished,
    Refused, ///< it was not taken, or has lost its place in the queue
    Failed   ///< the whole pipeline is broken
  };
  Kind kind = Kind::Token;
  int32_t token = 0;
  std::vector<TokenLogProbability> report; ///< of the token, where asked for
  bool ofPrompt = false;                   ///< as TokenEvent; of Token
  FinishReason reason = FinishReason::Stop;
  bool started = true; ///< false: it ended before it had its first row
  int64_t cachedTokens =
      0;          ///< of its prompt, found in the cache; with Finished
  Time waited{0}; ///< in the queue; with Finished
  SpeculationCounters speculation; ///< of the whole request, with Finished
  Refusal refusal = Refusal::None;
  /// Why: of Refused and Failed, and of FinishReason::Error.
  Status failure;
  Time at{0}; ///< when the head knew
};

/// Takes what becomes of one request. Called on the head's thread, which must
/// not be held up: implementations pass the item on to a thread of their own.
class TokenSink {
public:
  virtual ~TokenSink() = default;
  virtual void push(TokenItem item) = 0;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_TOKENSINK_H
