//===- TokenStream.h - the tokens of one request --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The source of one request's tokens: a model in this thread, or a pipeline of
// stages. The caller turns the tokens into text.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_TOKENSTREAM_H
#define SLUICE_RUNTIME_APP_TOKENSTREAM_H

#include "runtime/base/Status.h"
#include "runtime/core/Head.h"
#include "runtime/core/LogProbabilities.h"

#include <chrono>
#include <optional>
#include <span>
#include <vector>

namespace sluice::app {

using StreamClock = std::chrono::steady_clock;

/// The log-probabilities of a token.
struct TokenReport {
  TokenLogProbability chosen;
  std::vector<TokenLogProbability> top;
};

struct StreamedToken {
  int32_t token = 0;
  std::optional<TokenReport> report; // if requested
  StreamClock::time_point at;        // when the token was known
};

/// The tokens of one request. Not thread-safe.
class TokenStream {
public:
  virtual ~TokenStream() = default;

  /// Takes the prompt. Returns whether it has been computed: false if the user
  /// has interrupted that, or if it is computed elsewhere.
  virtual Expected<bool> start(std::span<const int32_t> prompt) = 0;

  /// Waits for the next token. Returns nullopt if there is none; finish() then
  /// says why. A token that ends the text is not returned.
  virtual Expected<std::optional<StreamedToken>> next() = 0;
  virtual FinishReason finish() const = 0;

  /// Ends the request, because a stop string has come.
  virtual void stop() {}

  /// Returns the logits of the prompt's last token; empty if they are not in
  /// this process. Valid until the first next().
  virtual std::span<const float> promptLogits() const { return {}; }
};

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_TOKENSTREAM_H
