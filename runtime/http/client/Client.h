//===- Client.h - an asynchronous HTTP/1.1 client -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sends many requests to one server at once. The client has no thread of its
// own: all work is done in run(). Answers are handed to handlers piece by piece
// as they are read. A connection carries one request at a time and is then
// reused.
//
//   Expected<Client> client = Client::create(url);
//   Expected<CallId> id =
//       client->start(request, std::make_unique<MyHandler>());
//   while (client->inFlight() > 0)
//     client->run(steady_clock::now() + 1s);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_CLIENT_CLIENT_H
#define SLUICE_RUNTIME_HTTP_CLIENT_CLIENT_H

#include "runtime/base/Status.h"
#include "runtime/http/client/Url.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::http {

using TimePoint = std::chrono::steady_clock::time_point;
using HeaderFields = std::vector<std::pair<std::string, std::string>>;

struct ClientOptions {
  /// Limits the connection and the TLS handshake together.
  std::chrono::milliseconds connectTimeout{10'000};
  /// Limits an answer's status line and fields, and one chunk's header.
  size_t maxHeaderBytes = size_t{64} << 10;
  /// Certificates (PEM) to trust instead of the system's. The server's
  /// certificate is always checked: it must lead to a trusted one and name the
  /// host.
  std::string caFile;
};

/// A request. The client adds Host, Content-Length and Connection.
struct ClientRequest {
  std::string method = "GET";
  std::string target = "/"; ///< path and query
  HeaderFields fields;
  std::string body;
  /// From start() to the end of the answer; 0: no limit.
  std::chrono::milliseconds timeout{0};
  /// Limits the answer's body.
  uint64_t maxBodyBytes = uint64_t{1} << 30;
};

/// The status and fields of an answer.
struct ResponseHead {
  int status = 0;
  std::string reason;
  HeaderFields fields;

  /// Returns the first field with this name, ignoring case; "" if there is
  /// none.
  std::string_view field(std::string_view name) const;
};

enum class FailureKind : uint8_t {
  Connect,   ///< connecting or the TLS handshake failed
  Timeout,   ///< of the request or of connecting
  Closed,    ///< the server ended the connection before the answer
  Malformed, ///< the answer is not HTTP/1
  TooLarge,  ///< the header or the body exceeds its limit
};

struct Failure {
  FailureKind kind = FailureKind::Closed;
  std::string message; ///< one line that names the server
};

/// Receives the answer to a request, on the thread that calls run(). Times are
/// those at which the bytes were read from the socket. Either onEnd or
/// onFailure is called, once; after that, or after abort(), nothing more is
/// called and the client destroys the handler. Each method may call start() and
/// abort().
class ResponseHandler {
public:
  virtual ~ResponseHandler() = default;
  /// Receives the head of the final answer; 1xx answers are skipped.
  virtual void onHead(const ResponseHead &head, TimePoint at) = 0;
  /// Receives the next bytes of the body, without the framing of chunks.
  virtual void onBody(std::string_view piece, TimePoint at) = 0;
  /// Called when the answer is complete, whatever its status.
  virtual void onEnd(TimePoint at) = 0;
  virtual void onFailure(const Failure &failure, TimePoint at) = 0;
};

using CallId = uint64_t;

/// Not thread-safe: only one thread may use a client.
class Client {
public:
  /// Resolves the host of `server`, which may block as long as the system's
  /// resolver does; the URL's target is ignored. Fails if the host is unknown
  /// or the certificates cannot be read.
  static Expected<Client> create(const Url &server, ClientOptions options = {});

  Client(Client &&) noexcept;
  Client &operator=(Client &&) = delete;
  /// Aborts all requests in flight.
  ~Client();

  /// Sends a request. Any number can be in flight, each on its own connection.
  /// The handler is called from run() only. If the server has closed a reused
  /// connection before the first byte of the answer, the request is sent once
  /// more on a new one. Fails if the method, the target or a field would break
  /// the message's framing.
  Expected<CallId> start(const ClientRequest &request,
                         std::unique_ptr<ResponseHandler> handler);

  /// Ends a request without calling its handler again, and closes its
  /// connection. Does nothing if the request has ended.
  void abort(CallId id);

  /// Waits for an event and handles it, or returns at `until`. May return early
  /// without an event.
  void run(TimePoint until);

  size_t inFlight() const;
  /// Returns the number of connections made so far.
  uint64_t connections() const;

private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl;
};

} // namespace sluice::http

#endif // SLUICE_RUNTIME_HTTP_CLIENT_CLIENT_H
