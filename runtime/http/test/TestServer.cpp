//===- TestServer.cpp - a server whose exchanges a test answers -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/test/TestServer.h"

#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <thread>

using namespace sluice::http;
using namespace sluice::http::test;

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

void Signal::raise() {
  std::lock_guard lock(mutex);
  ++raised;
  changed.notify_all();
}

bool Signal::wait(int times, milliseconds limit) {
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, limit, [&] { return raised >= times; });
}

int Signal::count() {
  std::lock_guard lock(mutex);
  return raised;
}

bool test::eventually(const std::function<bool()> &holds) {
  auto until = steady_clock::now() + patience;
  while (!holds()) {
    if (steady_clock::now() > until)
      return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

int64_t test::heapBytes() {
  struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

ServerOptions test::testOptions() {
  ServerOptions options;
  options.headerTimeout = options.bodyTimeout = options.idleTimeout =
      options.stallTimeout = seconds(60);
  return options;
}

TestServer::TestServer(ServerOptions options) {
  auto made = Server::create(std::move(options),
                             [this](std::shared_ptr<Exchange> exchange) {
                               handle(std::move(exchange));
                             });
  sluice::Status status = made.status();
  if (made) {
    server = made.take();
    status = server->start();
  }
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    std::abort();
  }
}

void TestServer::handle(std::shared_ptr<Exchange> exchange) {
  const Request &request = exchange->request();
  if (request.path == "/echo")
    return exchange->reply(200, {{"Content-Type", "text/plain"}},
                           request.method + ' ' + request.path + ' ' +
                               request.body);
  std::lock_guard lock(mutex);
  exchanges.push_back(std::move(exchange));
  came.notify_all();
}

std::shared_ptr<Exchange> TestServer::next() {
  std::unique_lock lock(mutex);
  if (!came.wait_for(lock, patience, [this] { return !exchanges.empty(); }))
    return nullptr;
  std::shared_ptr<Exchange> exchange = std::move(exchanges.front());
  exchanges.pop_front();
  return exchange;
}
