//===- PipelineStream.cpp - tokens from a pipeline's head -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/PipelineStream.h"

#include "runtime/app/Interrupt.h"

#include <utility>

using namespace sluice;
using namespace sluice::app;

using pipeline::TokenItem;

Expected<bool> PipelineStream::start(std::span<const int32_t> prompt) {
  if (spec.maxTokens == 0)
    return false;
  ScheduledRequest request{.spec = spec};
  request.spec.prompt.assign(prompt.begin(), prompt.end());
  running = true;
  cancelled = false;
  queue = std::make_shared<pipeline::TokenQueue>();
  head.submit(std::move(request), queue);
  return false;
}

/// Waits for the next item, and tells the head if the user interrupts.
TokenItem PipelineStream::wait() {
  constexpr Time patience = std::chrono::milliseconds(50);
  while (true) {
    // Checked before each token, because tokens may always come in time.
    if (interrupted() && !std::exchange(cancelled, true))
      head.finish(*queue, FinishReason::Cancelled);
    if (std::optional<TokenItem> item = queue->next(pipeline::now() + patience))
      return std::move(*item);
  }
}

static TokenReport toReport(const std::vector<TokenLogProbability> &entries) {
  return {entries.front(), {entries.begin() + 1, entries.end()}};
}

Expected<std::optional<StreamedToken>> PipelineStream::next() {
  std::optional<StreamedToken> none;
  if (!running)
    return none;
  TokenItem item = wait();
  switch (item.kind) {
  case TokenItem::Kind::Token: {
    StreamedToken token;
    token.token = item.token;
    if (!item.report.empty())
      token.report = toReport(item.report);
    token.at = pipeline::toTimePoint(item.at);
    return std::optional(std::move(token));
  }
  case TokenItem::Kind::Finished:
    reason = item.reason;
    if (reason == FinishReason::Error)
      break;
    running = false;
    return none;
  case TokenItem::Kind::Refused:
  case TokenItem::Kind::Failed:
    break;
  }
  running = false;
  return item.failure;
}

void PipelineStream::stop() {
  if (!running)
    return;
  head.finish(*queue, FinishReason::Stop);
  while (running)
    running = wait().kind == TokenItem::Kind::Token;
}
