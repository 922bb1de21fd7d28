//===- TokenSink.h - receives one request's tokens ------------------------===//
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

/// The next event of a request: a token, or its end, after which nothing
/// follows.
struct TokenItem {
  enum class Kind : uint8_t {
    Token,
    Finished,
    Refused, ///< refused, or evicted from the queue
    Failed   ///< the whole pipeline is broken
  };
  Kind kind = Kind::Token;
  int32_t token = 0;
  std::vector<TokenLogProbability> report; ///< on the token, if asked for
  bool ofPrompt = false;                   ///< of a Token: as in TokenEvent
  FinishReason reason = FinishReason::Stop;
  bool started = true; ///< false if it ended before its first row
  /// Tokens of its prompt that were found in the cache; with Finished.
  int64_t cachedTokens = 0;
  Time waited{0};                  ///< time in the queue; with Finished
  SpeculationCounters speculation; ///< of the whole request, with Finished
  Refusal refusal = Refusal::None;
  /// The reason of Refused, Failed or FinishReason::Error.
  Status failure;
  Time at{0}; ///< when the head knew
};

/// Receives the events of one request. Called on the head's thread, which must
/// not be delayed: implementations pass the item on to a thread of their own.
class TokenSink {
public:
  virtual ~TokenSink() = default;
  virtual void push(TokenItem item) = 0;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_TOKENSINK_H
