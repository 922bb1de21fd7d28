//===- TokenStream.h - one request's tokens -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the tokens of one request come from: a model in this thread, or a
// pipeline of stages. Who reads a stream makes text of it.
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

struct TokenReport {
  TokenLogProbability chosen;
  std::vector<TokenLogProbability> top;
};

struct StreamedToken {
  int32_t token = 0;
  std::optional<TokenReport> report; // where the request asked for it
  StreamClock::time_point at;        // when it was known
};

/// One request. Thread-compatible.
class TokenStream {
public:
  virtual ~TokenStream() = default;

  /// Takes the prompt. Whether it is computed: not where the user has
  /// interrupted that, nor where it goes on elsewhere.
  virtual Expected<bool> start(std::span<const int32_t> prompt) = 0;

  /// Waits for the next token; nullopt: there is none, and finish() says why. A
  /// token that ends the text is not among them.
  virtual Expected<std::optional<StreamedToken>> next() = 0;
  virtual FinishReason finish() const = 0;

  /// No more tokens are wanted: a stop string has come.
  virtual void stop() {}

  /// Logits of the prompt's last token; empty where they are not in this
  /// process. Valid until the first next().
  virtual std::span<const float> promptLogits() const { return {}; }
};

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_TOKENSTREAM_H
