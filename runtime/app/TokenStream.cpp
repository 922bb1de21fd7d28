//===- TokenStream.cpp - the tokens of one request ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/TokenStream.h"

#include "runtime/base/Interrupt.h"

#include <utility>

using namespace sluice;
using namespace sluice::app;

using pipeline::RequestEvent;

void TokenStream::start(std::span<const int32_t> prompt) {
  ScheduledRequest request{.spec = spec};
  request.spec.prompt.assign(prompt.begin(), prompt.end());
  // Without tokens, the prompt would not be computed.
  if (spec.maxTokens == 0)
    request.spec.maxTokens = 1;
  running = true;
  queue = std::make_shared<pipeline::TokenQueue>();
  head.submit(std::move(request), queue);
}

/// Waits for the next event, and tells the head if the user interrupts.
RequestEvent TokenStream::wait() {
  constexpr Time patience = std::chrono::milliseconds(50);
  while (true) {
    // Checked before each token, because tokens may always come in time.
    if (interrupted() && !std::exchange(cancelled, true))
      head.finish(*queue, FinishReason::Cancelled);
    std::optional<RequestEvent> event =
        turn ? queue->poll() : queue->next(pipeline::now() + patience);
    if (event)
      return std::move(*event);
    if (turn)
      turn();
  }
}

/// Returns the event's token, if it has one that is wanted.
Expected<std::optional<TokenEvent>> TokenStream::take(RequestEvent event) {
  std::optional<TokenEvent> none;
  if (auto *token = std::get_if<TokenEvent>(&event)) {
    if (!computed)
      computed = pipeline::toTimePoint(token->at);
    return spec.maxTokens != 0 ? std::optional(std::move(*token)) : none;
  }
  running = false;
  const auto &end = std::get<RequestEnd>(event);
  if (!end.hasFinished() || end.reason == FinishReason::Error)
    return end.failure;
  // The first token can be one that ends the text.
  if (!computed && end.reason == FinishReason::Stop)
    computed = pipeline::toTimePoint(end.at);
  if (spec.maxTokens != 0 || end.reason == FinishReason::Cancelled)
    reason = end.reason;
  return none;
}

Expected<std::optional<TokenEvent>> TokenStream::next() {
  while (running) {
    Expected<std::optional<TokenEvent>> token = take(wait());
    if (!token || *token)
      return token;
  }
  return std::optional<TokenEvent>();
}

Expected<std::optional<TokenEvent>> TokenStream::poll() {
  while (running) {
    std::optional<RequestEvent> event = queue->poll();
    if (!event)
      break;
    Expected<std::optional<TokenEvent>> token = take(std::move(*event));
    if (!token || *token)
      return token;
  }
  return std::optional<TokenEvent>();
}

void TokenStream::stop() {
  if (!running)
    return;
  head.finish(*queue, FinishReason::Stop);
  while (running)
    running = std::holds_alternative<TokenEvent>(wait());
}
