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

/// A queue with one writer (the head) and one reader. It holds as many items as
/// a request has tokens, so the head never waits for a slow reader.
class TokenQueue final : public TokenSink {
public:
  void push(TokenItem item) override { mailbox.push(std::move(item)); }

  /// Returns the next item; waits for it until `deadline`. Returns nothing at
  /// the deadline and after the request's end.
  std::optional<TokenItem> next(Time deadline) {
    if (items.empty()) {
      taken.clear();
      mailbox.takeUntil(taken, deadline);
      noteTaken();
    }
    return first();
  }

  /// Returns the next item if it has come; never waits.
  std::optional<TokenItem> poll() {
    if (items.empty()) {
      taken.clear();
      mailbox.take(taken, /*wait=*/false);
      noteTaken();
    }
    return first();
  }

private:
  void noteTaken() {
    items.assign(std::make_move_iterator(taken.begin()),
                 std::make_move_iterator(taken.end()));
  }
  std::optional<TokenItem> first() {
    if (items.empty())
      return std::nullopt;
    TokenItem item = std::move(items.front());
    items.pop_front();
    return item;
  }

  Mailbox<TokenItem> mailbox{std::numeric_limits<int64_t>::max()};
  std::vector<TokenItem> taken;
  std::deque<TokenItem> items;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_TOKENQUEUE_H
