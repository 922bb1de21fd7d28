//===- TokenQueue.h - passes one request's tokens between threads ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Carries one request's tokens from the head's thread to the thread that waits
// for them.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_TOKENQUEUE_H
#define SLUICE_RUNTIME_PIPELINE_TOKENQUEUE_H

#include "runtime/pipeline/Mailbox.h"
#include "runtime/pipeline/TokenSink.h"

#include <deque>
#include <optional>

namespace sluice::pipeline {

/// A queue with one writer (the head) and one reader. It holds all events that
/// the reader has not taken, so the head never waits for a slow reader.
class TokenQueue final : public TokenSink {
public:
  void push(RequestEvent event) override { mailbox.push(std::move(event)); }

  /// Returns the next event; waits for it until `deadline`. Returns nothing at
  /// the deadline and after the request's end.
  std::optional<RequestEvent> next(Time deadline) {
    if (events.empty()) {
      taken.clear();
      mailbox.takeUntil(taken, deadline);
      noteTaken();
    }
    return first();
  }

  /// Returns the next event if it has come; never waits.
  std::optional<RequestEvent> poll() {
    if (events.empty()) {
      taken.clear();
      mailbox.take(taken, /*wait=*/false);
      noteTaken();
    }
    return first();
  }

private:
  void noteTaken() {
    events.assign(std::make_move_iterator(taken.begin()),
                  std::make_move_iterator(taken.end()));
  }
  std::optional<RequestEvent> first() {
    if (events.empty())
      return std::nullopt;
    RequestEvent event = std::move(events.front());
    events.pop_front();
    return event;
  }

  Mailbox<RequestEvent> mailbox{std::numeric_limits<int64_t>::max()};
  std::vector<RequestEvent> taken;
  std::deque<RequestEvent> events;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_TOKENQUEUE_H
