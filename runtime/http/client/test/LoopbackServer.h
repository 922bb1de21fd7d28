//===- LoopbackServer.h - a test server on plain sockets ------------------===//
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

/// The server's end of a connection. Its calls block.
class Peer {
public:
  explicit Peer(int fd) : fd(fd) {}

  /// Returns the next request, header and body, or "" if the client has closed.
  std::string readRequest();
  /// Returns whether all bytes could be sent.
  bool send(std::string_view bytes);
  /// Sends the head of an answer with a chunked body.
  bool sendChunkedHead(std::string_view type = "text/event-stream");
  bool sendChunk(std::string_view bytes);
  /// Waits until the client closes. Returns false after 5 s.
  bool waitForClose();
  /// Ends the connection with RST.
  void reset();

  const int fd;

private:
  std::string pending; ///< bytes read beyond the last request
};

/// Returns an answer with a Content-Length.
std::string answer(std::string_view status, std::string_view body);

/// Listens on 127.0.0.1 and calls `serve` for each connection, on its own
/// thread. The connection is closed when `serve` returns.
class LoopbackServer {
public:
  explicit LoopbackServer(std::function<void(Peer &)> serve);
  ~LoopbackServer();

  std::string url() const { return "http://" + authority(); }
  std::string authority() const { return "127.0.0.1:" + std::to_string(port); }

private:
  void acceptAll();

  std::function<void(Peer &)> serve;
  uint16_t port = 0; // set by the next member
  int listener = -1;
  std::atomic<bool> stopping = false;
  std::mutex lock;
  std::vector<int> open;
  std::vector<std::thread> threads;
  std::thread acceptor;
};

/// Returns a listening socket on a free port of 127.0.0.1.
int listenOnLoopback(uint16_t &port);

} // namespace sluice::http::test

#endif // SLUICE_RUNTIME_HTTP_CLIENT_TEST_LOOPBACKSERVER_H
