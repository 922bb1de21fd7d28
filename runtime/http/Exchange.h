//===- Exchange.h - one request and its answer ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a server's handler gets. The answer is one of
//
//   exchange->reply(200, {{"Content-Type", "application/json"}}, body);
//
//   exchange->fail(404, "there is no model 'x'");
//
//   exchange->startStream(200, {{"Content-Type", "text/event-stream"}});
//   exchange->write("data: 1\n\n");                 // any number
//   exchange->endStream();
//
// and may be given later, from any thread. Only the first answer counts; what
// comes after its end does nothing.
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

/// Owned by whoever will answer; the server keeps none. When the last reference
/// goes and there is no answer, the client gets a 500; where a stream has not
/// ended, its connection is reset, so that the client knows. May outlive its
/// server: then nobody is there any more.
///
/// Thread-safe, but for takeBody(). The methods do not block; they take a
/// mutex, under which nothing of the user's is called.
class Exchange {
public:
  explicit Exchange(std::shared_ptr<server::ExchangeState> state);
  ~Exchange();
  Exchange(const Exchange &) = delete;
  Exchange &operator=(const Exchange &) = delete;

  const Request &request() const;
  /// Moves the body out of request(), and out of the server's limit on all
  /// bodies. Not while another thread uses request().
  std::string takeBody();

  /// A complete answer. `status`: 200 to 599. Date, Connection, Content-Length
  /// and Transfer-Encoding are the server's: such fields are left out. Names
  /// must be tokens (fields that are not are left out); control characters in
  /// values become '?'. `body` is not sent for HEAD, 204 and 304.
  void reply(int status, const Fields &fields, std::string body);

  /// An answer that reports an error: "message\n" as text/plain.
  void fail(int status, std::string_view message, Fields fields = {});

  /// Sends the head of an answer whose body follows piece by piece: in chunks,
  /// or until the connection closes for HTTP/1.0. False: nobody is there any
  /// more, or it has an answer.
  bool startStream(int status, const Fields &fields);
  /// Sends the next piece of a stream. Pieces that come while an earlier one is
  /// being sent go out together. False: nobody is there any more, or there is
  /// no open stream; stop then.
  bool write(std::string_view data);
  /// The stream is complete.
  void endStream();

  /// There will be no answer, or no end of it: the connection is reset, so that
  /// the client knows. Needs no memory.
  void breakOff() noexcept;

  /// `fn` is called once, on the server's thread, when the client has gone
  /// before the answer was complete, that is before reply(), fail() or
  /// endStream(): it has closed or reset the connection, it was too slow (see
  /// ServerOptions: unsentBytes, stallTimeout), or the server stops. It must
  /// not block. A client that closes only its sending side has gone as well:
  /// the usual clients keep it open, so that is how a leave looks.
  ///
  /// Noticed at once, also before the first byte of the answer; within a
  /// quarter of a second where the client has sent ahead as much as the server
  /// keeps (ServerOptions::headerBytes).
  ///
  /// False: it has gone, or the answer is complete; `fn` is then not kept. A
  /// second `fn` replaces the first. `fn` is destroyed once it cannot be called
  /// any more; as long as it holds the Exchange, that has a reference.
  [[nodiscard]] bool onGone(std::function<void()> fn);
  /// Whether the client has gone before the answer was complete.
  bool gone() const;

private:
  const std::shared_ptr<server::ExchangeState> state;
};

} // namespace sluice::http

#endif // SLUICE_RUNTIME_HTTP_EXCHANGE_H
