//===- Server.h - an asynchronous HTTP/1.1 server -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Receives requests, plain or under TLS, and sends answers that any thread
// gives. One thread does it for all connections: an open stream costs 3 kB of
// memory, 16 kB under TLS, besides what the kernel keeps for its socket.
//
//   Expected<std::unique_ptr<Server>> server =
//       Server::create(options, [](std::shared_ptr<Exchange> exchange) {
//         exchange->reply(200, {{"Content-Type", "text/plain"}}, "hello\n");
//       });
//   Status started = (*server)->start();
//
// HTTP/1.0 and 1.1 (RFC 9110, 9112): connections are kept alive, pipelined
// requests are served one after another, bodies may come in chunks, and
// "Expect: 100-continue" is met. What the server refuses by itself, answered by
// ServerOptions::onRefusal, with `Connection: close`:
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
//   503  too many connections, or too many bytes of bodies
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

/// Called with each request, on the server's thread. It must not block: it
/// answers at once, or hands the exchange on. HEAD is asked and answered like
/// GET; the server leaves the body out.
using Handler = std::function<void(std::shared_ptr<Exchange>)>;

/// What has happened since create(). Bytes are those of the connections: with
/// heads and framing, and under TLS with all of its own.
struct ServerCounters {
  int64_t connections = 0; ///< open now
  uint64_t accepted = 0;   ///< connections; the refused ones are among them
  /// Connections that were closed, or whose request was refused, because there
  /// were too many.
  uint64_t refused = 0;
  uint64_t bytesIn = 0;
  uint64_t bytesOut = 0;
};

/// Thread-safe, but for start() and stop(), which belong to the owner.
class Server {
public:
  /// Listens; connections wait until start(). Errors: an option, an address
  /// that is none, a port in use, a certificate or key that cannot be read or
  /// do not fit together.
  static Expected<std::unique_ptr<Server>> create(ServerOptions options,
                                                  Handler handler);
  /// stop().
  ~Server();
  Server(const Server &) = delete;
  Server &operator=(const Server &) = delete;

  /// Starts the server's thread; once. Errors: there is no thread to be had, or
  /// it has been started or stopped before.
  Status start();

  uint16_t port() const;

  /// From now on there are no new connections. Those without a request close;
  /// requests that are being received or answered are finished, then their
  /// connections close. Returns at once; wait for open() to become 0.
  void drain();
  /// Exchanges whose answer is not complete or has not been given to the kernel
  /// in full, and whose client is there.
  int64_t open() const;

  /// Closes all connections, calls onGone() of the exchanges that are
  /// unanswered, and ends the thread; after that, neither the handler nor an
  /// onGone() is called. Not from the server's thread. May be called again.
  void stop();

  ServerCounters counters() const;

private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl;
};

} // namespace sluice::http

#endif // SLUICE_RUNTIME_HTTP_SERVER_H
