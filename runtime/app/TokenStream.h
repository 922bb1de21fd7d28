//===- TokenStream.h - the tokens of one request --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tokens that a pipeline's head generates for one request. The caller turns
// them into text.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_TOKENSTREAM_H
#define SLUICE_RUNTIME_APP_TOKENSTREAM_H

#include "runtime/pipeline/HeadLoop.h"
#include "runtime/pipeline/TokenQueue.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sluice::app {

using StreamClock = std::chrono::steady_clock;

/// Not thread-safe.
class TokenStream {
public:
  /// `head` and `spec`, whose prompt is not used, must outlive the stream.
  /// `turn` is called again and again while the stream waits; it is for a head
  /// that has no thread of its own (InlinePipeline::turn()), and empty for
  /// others.
  TokenStream(pipeline::HeadLoop &head, const RequestSpec &spec,
              std::function<void()> turn = {})
      : head(head), spec(spec), turn(std::move(turn)) {}

  /// Submits the prompt. Must be called once, before the other methods.
  void start(std::span<const int32_t> prompt);

  /// Waits for the next token. Returns nullopt once the request has ended;
  /// finish() then says why. A token that ends the text is not returned. Fails
  /// if the request or the pipeline does.
  Expected<std::optional<TokenEvent>> next();
  /// Returns the next token if it has come; never waits. Fails as next() does.
  Expected<std::optional<TokenEvent>> poll();
  /// Returns whether the request has ended and all its tokens were returned.
  bool ended() const { return !running; }
  FinishReason finish() const { return reason; }

  /// Ends the request, because a stop string has come.
  void stop();

  /// Returns when the first token after the prompt was known, also if it was
  /// not wanted; nullopt if the user interrupted it.
  std::optional<StreamClock::time_point> promptComputed() const {
    return computed;
  }

private:
  pipeline::RequestEvent wait();
  Expected<std::optional<TokenEvent>> take(pipeline::RequestEvent event);

  pipeline::HeadLoop &head;
  const RequestSpec &spec;
  std::function<void()> turn;
  std::shared_ptr<pipeline::TokenQueue> queue;
  bool running = false;   // the head's end of the request has not come
  bool cancelled = false; // the head was told that the user interrupted it
  std::optional<StreamClock::time_point> computed;
  FinishReason reason = FinishReason::Length;
};

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_TOKENSTREAM_H
