//===- TestServer.h - a server whose exchanges a test answers -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_TEST_TESTSERVER_H
#define SLUICE_RUNTIME_HTTP_TEST_TESTSERVER_H

#include "runtime/http/Server.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

namespace sluice::http::test {

/// How long tests wait for what must happen, also on a machine that has much
/// else to do.
constexpr std::chrono::seconds patience{60};

/// A counter whose value another thread can wait for.
class Signal {
public:
  void raise();
  /// Waits until it was raised `times` times. Returns false after `limit`.
  bool wait(int times = 1, std::chrono::milliseconds limit = patience);
  int count();

private:
  std::mutex mutex;
  std::condition_variable changed;
  int raised = 0;
};

/// Returns whether `holds` becomes true within the patience of tests.
bool eventually(const std::function<bool()> &holds);

/// Returns the process's allocated bytes; 0 with a sanitizer's allocator.
int64_t heapBytes();

/// Returns options with limits so long that nothing ends by itself during a
/// test.
ServerOptions testOptions();

/// A running server. It answers requests for /echo at once with their method,
/// path and body; other requests wait for next().
class TestServer {
public:
  explicit TestServer(ServerOptions options = testOptions());

  /// Returns the next exchange; null if none comes within five seconds.
  std::shared_ptr<Exchange> next();
  uint16_t port() const { return server->port(); }

  std::unique_ptr<Server> server;

private:
  void handle(std::shared_ptr<Exchange> exchange);

  std::mutex mutex;
  std::condition_variable came;
  std::deque<std::shared_ptr<Exchange>> exchanges;
};

} // namespace sluice::http::test

#endif // SLUICE_RUNTIME_HTTP_TEST_TESTSERVER_H
