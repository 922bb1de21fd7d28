//===- Exchange.h - one request and its answer ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The object that a server's handler gets for each request. An answer has one
// of these forms:
//
//   exchange->reply(200, {{"Content-Type", "application/json"}}, body);
//
//   exchange->fail(404, "there is no model 'x'");
//
//   exchange->startStream(200, {{"Content-Type", "text/event-stream"}});
//   exchange->write("data: 1\n\n");                 // any number
//   exchange->endStream();
//
// It may be given later, from any thread. Only the first answer counts; calls
// after its end do nothing.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_EXCHANGE_H
#define SLUICE_RUNTIME_HTTP_EXCHANGE_H

#include "runtime/http/HttpRequest.h"

#include <functional>
#include <memory>

namespace sluice::http {

namespace server {
class ExchangeState;
}

/// Owned by the code that will answer; the server keeps no reference. When the
/// last reference goes, a request without an answer is answered with 500, and a
/// stream that has not ended is reset, so that the client notices. An exchange
/// may outlive its server; its client then counts as gone.
///
/// Thread-safe, except takeBody(). The methods do not block. They take a mutex,
/// but call no function of the user's under it.
class Exchange {
public:
  explicit Exchange(std::shared_ptr<server::ExchangeState> state);
  ~Exchange();
  Exchange(const Exchange &) = delete;
  Exchange &operator=(const Exchange &) = delete;

  const Request &request() const;
  /// Moves the body out of request(), and out of the server's limit on all
  /// bodies. No other thread may use request() meanwhile.
  std::string takeBody();

  /// Counts, from now to the end of the exchange, so many bytes that were made
  /// of the body, in place of those that were counted before. Returns false if
  /// the tenant now holds more than it may (ServerOptions::allHeldBytes).
  bool hold(int64_t bytes);

  /// Gives a complete answer. `status` is 200 to 599. Date, Connection,
  /// Content-Length and Transfer-Encoding are the server's, so such fields are
  /// left out, as are fields whose name is not a token; control characters in
  /// values become '?'. `body` is not sent for HEAD, 204 and 304.
  void reply(int status, const Fields &fields, std::string body);

  /// Answers with an error: "message\n" as text/plain.
  void fail(int status, std::string_view message, Fields fields = {});

  /// Sends the head of an answer whose body follows piece by piece: in chunks,
  /// or for HTTP/1.0 until the connection closes. Returns false if the client
  /// has gone or there is an answer already.
  bool startStream(int status, const Fields &fields);
  /// Sends the next piece of a stream. Pieces that are written while an earlier
  /// one is being sent go out together. Returns false if the client has gone or
  /// no stream is open; the caller should stop then.
  bool write(std::string_view data);
  /// Completes the stream.
  void endStream();

  /// Gives up the answer or the rest of it: the connection is reset, so that
  /// the client notices. Needs no memory.
  void breakOff() noexcept;

  /// Sets a function that is called once, on the server's thread, if the client
  /// goes before reply(), fail() or endStream(): it has closed or reset the
  /// connection, it is too slow (see ServerOptions: unsentBytes, stallTimeout),
  /// or the server stops. `fn` must not block. A client that closes only its
  /// sending side counts as gone: usual clients keep it open until they have
  /// the answer.
  ///
  /// A client that goes is noticed at once, also before the first byte of the
  /// answer; but within a quarter of a second if it has sent ahead as much as
  /// the server keeps (ServerOptions::headerBytes).
  ///
  /// Returns false, and does not keep `fn`, if the client has gone or the
  /// answer is complete. A second `fn` replaces the first. `fn` is destroyed
  /// once it cannot be called any more; until then, an Exchange that it holds
  /// stays alive.
  [[nodiscard]] bool onGone(std::function<void()> fn);
  /// Returns whether the client went before the answer was complete.
  bool gone() const;

private:
  const std::shared_ptr<server::ExchangeState> state;
};

} // namespace sluice::http

#endif // SLUICE_RUNTIME_HTTP_EXCHANGE_H
