//===- TokenStream.cpp - the tokens of one request ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/TokenStream.h"

#include "runtime/app/Interrupt.h"

#include <utility>

using namespace sluice;
using namespace sluice::app;

using pipeline::TokenItem;

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

/// Waits for the next item, and tells the head if the user interrupts.
TokenItem TokenStream::wait() {
  constexpr Time patience = std::chrono::milliseconds(50);
  while (true) {
    // Checked before each token, because tokens may always come in time.
    if (interrupted() && !std::exchange(cancelled, true))
      head.finish(*queue, FinishReason::Cancelled);
    std::optional<TokenItem> item =
        turn ? queue->poll() : queue->next(pipeline::now() + patience);
    if (item)
      return std::move(*item);
    if (turn)
      turn();
  }
}

static StreamedToken toStreamed(const TokenItem &item) {
  StreamedToken token;
  token.token = item.token;
  if (!item.report.empty())
    token.report = TokenReport{item.report.front(),
                               {item.report.begin() + 1, item.report.end()}};
  token.at = pipeline::toTimePoint(item.at);
  return token;
}

/// Returns the item's token, if it has one that is wanted.
Expected<std::optional<StreamedToken>>
TokenStream::take(const TokenItem &item) {
  std::optional<StreamedToken> none;
  if (item.kind == TokenItem::Kind::Token) {
    if (!computed)
      computed = pipeline::toTimePoint(item.at);
    return spec.maxTokens != 0 ? std::optional(toStreamed(item)) : none;
  }
  running = false;
  if (item.kind != TokenItem::Kind::Finished ||
      item.reason == FinishReason::Error)
    return item.failure;
  // The first token can be one that ends the text.
  if (!computed && item.reason == FinishReason::Stop)
    computed = pipeline::toTimePoint(item.at);
  if (spec.maxTokens != 0 || item.reason == FinishReason::Cancelled)
    reason = item.reason;
  return none;
}

Expected<std::optional<StreamedToken>> TokenStream::next() {
  while (running) {
    Expected<std::optional<StreamedToken>> token = take(wait());
    if (!token || *token)
      return token;
  }
  return std::optional<StreamedToken>();
}

Expected<std::optional<StreamedToken>> TokenStream::poll() {
  while (running) {
    std::optional<TokenItem> item = queue->poll();
    if (!item)
      break;
    Expected<std::optional<StreamedToken>> token = take(*item);
    if (!token || *token)
      return token;
  }
  return std::optional<StreamedToken>();
}

void TokenStream::stop() {
  if (!running)
    return;
  head.finish(*queue, FinishReason::Stop);
  while (running)
    running = wait().kind == TokenItem::Kind::Token;
}
