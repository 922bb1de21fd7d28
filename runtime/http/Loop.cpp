//===- Loop.cpp - what a server's connections have in common --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/Loop.h"

#include "runtime/http/Connection.h"

#include <boost/asio/post.hpp>

using namespace sluice::http;
using namespace sluice::http::server;

/// What is read at once.
static constexpr size_t scratchBytes = size_t{64} << 10;

Loop::Loop(ServerOptions given)
    : options(std::move(given)),
      limits{static_cast<size_t>(options.headerBytes),
             static_cast<size_t>(options.headerCount),
             static_cast<uint64_t>(options.bodyBytes)},
      shared(std::make_shared<Shared>()),
      io(std::make_shared<asio::io_context>(/*concurrency_hint=*/1)),
      scratch(scratchBytes) {
  shared->unsentBytes = static_cast<size_t>(options.unsentBytes);
  shared->allAnswerBytes = options.allAnswerBytes;
  // Exchanges can outlive the loop, but then the context does not run any more.
  shared->tooMuch = [this, all = shared.get(), context = std::weak_ptr(io)] {
    std::shared_ptr<asio::io_context> running = context.lock();
    if (!running || all->cutsOff.exchange(true, relaxed))
      return;
    asio::post(*running, [this] {
      shared->cutsOff.store(false, relaxed);
      cutOffSlowest();
    });
  };
}

void Loop::cutOffSlowest() {
  const Clock::time_point now = Clock::now();
  while (shared->answerBytes.load(relaxed) > options.allAnswerBytes) {
    std::shared_ptr<Connection> slowest;
    double least = 0;
    int64_t readers = 0;
    for (const std::shared_ptr<Connection> &each : connections) {
      std::optional<double> rate = each->readingRate(now);
      readers += rate.has_value();
      if (rate && (!slowest || *rate < least)) {
        slowest = each;
        least = *rate;
      }
    }
    if (readers < 2)
      return;
    slowest->cutOff();
  }
}
