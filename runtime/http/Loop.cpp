//===- Loop.cpp - what a server's connections have in common --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/Loop.h"

#include "runtime/http/Connection.h"

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
}
