//===- TokenSink.h - receives one request's tokens ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_TOKENSINK_H
#define SLUICE_RUNTIME_PIPELINE_TOKENSINK_H

#include "runtime/core/Scheduler.h"

#include <variant>

namespace sluice::pipeline {

/// The next event of a request: a token, or its end, after which nothing
/// follows.
using RequestEvent = std::variant<TokenEvent, RequestEnd>;

/// Receives the events of one request. Called on the head's thread, which must
/// not be delayed: implementations pass the event on to a thread of their own.
class TokenSink {
public:
  virtual ~TokenSink() = default;
  virtual void push(RequestEvent event) = 0;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_TOKENSINK_H
