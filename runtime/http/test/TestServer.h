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

/// Counts, and lets another thread wait for the count.
class Signal {
public:
  void raise();
  /// Whether it is raised for the `times`th time within `patience`.
  bool wait(int times = 1,
            std::chrono::milliseconds patience = std::chrono::seconds(5));
  int count();

private:
  std::mutex mutex;
  std::condition_variable changed;
  int raised = 0;
};

/// Whether `holds` becomes true within five seconds.
bool eventually(const std::function<bool()> &holds);

/// Allocated memory of the process, in bytes; 0 where a sanitizer allocates.
int64_t heapBytes();

/// Options with times that suit tests: nothing ends by itself within one.
ServerOptions testOptions();

/// A server that runs. Requests for /echo are answered with their method, path
/// and body at once; others wait for next().
class TestServer {
public:
  explicit TestServer(ServerOptions options = testOptions());

  /// The next exchange that has come; null after five seconds without one.
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
