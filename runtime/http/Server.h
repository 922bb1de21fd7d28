//===- Server.h - an asynchronous HTTP/1.1 server -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Receives requests, plain or under TLS, and sends answers, which any thread
// may give. One thread serves all connections. An open stream costs 3 kB of
// memory, 16 kB under TLS, plus what the kernel keeps for its socket.
//
//   Expected<std::unique_ptr<Server>> server =
//       Server::create(options, [](std::shared_ptr<Exchange> exchange) {
//         exchange->reply(200, {{"Content-Type", "text/plain"}}, "hello\n");
//       });
//   Status started = (*server)->start();
//
// Speaks HTTP/1.0 and 1.1 (RFC 9110, 9112): connections are kept alive,
// pipelined requests are served one after another, bodies may be chunked, and
// "Expect: 100-continue" works. The server itself refuses these requests,
// through ServerOptions::onRefusal and with `Connection: close`:
//
//   400  malformed; no Host or more than one, more than one Authorization,
//        Content-Encoding, Content-Type or Origin; lines folded or not ended
//        by CR LF; lengths that are unclear (Content-Length repeated, or
//        together with Transfer-Encoding); plain HTTP to a port that speaks TLS
//   408  the header or the body has not come in time
//   413  the body is too large
//   417  an expectation other than 100-continue
//   431  the header is too large, or has too many fields
//   501  a transfer coding other than chunked
//   503  too many connections, requests of one tenant, or bytes of bodies
//   505  a version other than 1.0 and 1.1
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_SERVER_H
#define SLUICE_RUNTIME_HTTP_SERVER_H

#include "runtime/base/Status.h"
#include "runtime/http/Exchange.h"
#include "runtime/http/ServerOptions.h"

#include <functional>
#include <memory>

namespace sluice::http {

/// Called for each request, on the server's thread. It must not block: it
/// answers at once or hands the exchange to another thread. It answers HEAD
/// like GET; the server leaves the body out.
using Handler = std::function<void(std::shared_ptr<Exchange>)>;

/// Statistics since create(). Bytes are those on the wire, with heads, framing
/// and the overhead of TLS.
struct ServerCounters {
  int64_t connections = 0; ///< open now
  uint64_t accepted = 0;   ///< connections, including refused ones
  /// Connections that were closed, or whose request was refused, because there
  /// were too many.
  uint64_t refused = 0;
  uint64_t bytesIn = 0;
  uint64_t bytesOut = 0;
};

/// Thread-safe, except start() and stop(), which belong to the owner.
class Server {
public:
  /// Makes a server that listens; connections wait until start(). Fails if an
  /// option or the address is not valid, the port is in use, the certificate or
  /// the key cannot be read, or they do not belong together.
  static Expected<std::unique_ptr<Server>> create(ServerOptions options,
                                                  Handler handler);
  /// Calls stop().
  ~Server();
  Server(const Server &) = delete;
  Server &operator=(const Server &) = delete;

  /// Starts the server's thread; may be called once. Fails if the system gives
  /// no thread, or if the server was started or stopped before.
  Status start();

  uint16_t port() const;

  /// Accepts no more connections. Connections without a request close; those
  /// with one close when it has been received and answered. Returns at once;
  /// wait for open() to become 0.
  void drain();
  /// Returns the number of exchanges whose client is there and whose answer is
  /// incomplete or not yet fully accepted by the kernel.
  int64_t open() const;

  /// Closes all connections, calls the onGone() functions of unanswered
  /// exchanges, and ends the thread. After that, neither the handler nor an
  /// onGone() function is called. Must not be called on the server's thread.
  /// May be called again.
  void stop();

  ServerCounters counters() const;

private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl;
};

} // namespace sluice::http

#endif // SLUICE_RUNTIME_HTTP_SERVER_H
