//===- LoopbackServer.h - a server for tests, of plain sockets ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_CLIENT_TEST_LOOPBACKSERVER_H
#define SLUICE_RUNTIME_HTTP_CLIENT_TEST_LOOPBACKSERVER_H

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace sluice::http::test {

/// The server's end of a connection. Blocking.
class Peer {
public:
  explicit Peer(int fd) : fd(fd) {}

  /// The next request, header and body, or "" when the client has closed.
  std::string readRequest();
  /// Whether all of it could be sent.
  bool send(std::string_view bytes);
  /// Sends the head of an answer whose body comes as chunks.
  bool sendChunkedHead(std::string_view type = "text/event-stream");
  bool sendChunk(std::string_view bytes);
  /// Waits until the client closes; true when it does within 5 s.
  bool waitForClose();
  /// Ends the connection by a reset (RST).
  void reset();

  const int fd;

private:
  std::string pending; ///< read, and not part of a request yet
};

/// An answer with a Content-Length.
std::string answer(std::string_view status, std::string_view body);

/// Listens on 127.0.0.1 and calls `serve` for each connection, in a thread of
/// its own; the connection is closed when it returns.
class LoopbackServer {
public:
  explicit LoopbackServer(std::function<void(Peer &)> serve);
  ~LoopbackServer();

  std::string url() const { return "http://" + authority(); }
  std::string authority() const { return "127.0.0.1:" + std::to_string(port); }

private:
  void acceptAll();

  std::function<void(Peer &)> serve;
  uint16_t port = 0; // set by what comes next
  int listener = -1;
  std::atomic<bool> stopping = false;
  std::mutex lock;
  std::vector<int> open;
  std::vector<std::thread> threads;
  std::thread acceptor;
};

/// A listening socket on a free port of 127.0.0.1.
int listenOnLoopback(uint16_t &port);

} // namespace sluice::http::test

#endif // SLUICE_RUNTIME_HTTP_CLIENT_TEST_LOOPBACKSERVER_H
