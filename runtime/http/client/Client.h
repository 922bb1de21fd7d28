//===- Client.h - an asynchronous HTTP/1.1 client -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Many requests to one server at once, on the thread that calls run(): there is
// no other thread. Answers are handed on piece by piece as they are read. A
// connection carries one request at a time and is kept for the next one.
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
  /// For the connection and the TLS handshake together.
  std::chrono::milliseconds connectTimeout{10'000};
  /// Of an answer's status line and fields, and of one chunk's header.
  size_t maxHeaderBytes = size_t{64} << 10;
  /// Certificates (PEM) to trust instead of the system's. The server's must
  /// lead to one of them and name its host, always.
  std::string caFile;
};

/// What is asked. Host, Content-Length and Connection are added.
struct ClientRequest {
  std::string method = "GET";
  std::string target = "/"; ///< path and query
  HeaderFields fields;
  std::string body;
  /// From start() to the end of the answer; 0: no limit.
  std::chrono::milliseconds timeout{0};
  /// Of the answer.
  uint64_t maxBodyBytes = uint64_t{1} << 30;
};

/// An answer's status and fields.
struct ResponseHead {
  int status = 0;
  std::string reason;
  HeaderFields fields;

  /// The first field of that name, in capital or small letters; "" without one.
  std::string_view field(std::string_view name) const;
};

enum class FailureKind : uint8_t {
  Connect,   ///< no connection, or the TLS handshake failed
  Timeout,   ///< the request's own limit, or the connection's
  Closed,    ///< the server closed or reset it before the answer's end
  Malformed, ///< not HTTP/1
  TooLarge,  ///< a limit on header or body bytes
};

struct Failure {
  FailureKind kind = FailureKind::Closed;
  std::string message; ///< one line that names the server
};

/// What happens to a request, told on the thread that calls run(). Times are
/// taken when the bytes were read from the socket. After onEnd or onFailure, of
/// which one is called once, or after abort() nothing more is called, and the
/// handler is destroyed, at the latest by the client. Any of these may call
/// start() and abort().
class ResponseHandler {
public:
  virtual ~ResponseHandler() = default;
  /// The final answer's; 1xx answers are read over.
  virtual void onHead(const ResponseHead &head, TimePoint at) = 0;
  /// The next bytes of the body, without its chunks' framing.
  virtual void onBody(std::string_view piece, TimePoint at) = 0;
  /// The answer is complete, whatever its status.
  virtual void onEnd(TimePoint at) = 0;
  virtual void onFailure(const Failure &failure, TimePoint at) = 0;
};

using CallId = uint64_t;

/// Not thread-safe: one thread uses a client.
class Client {
public:
  /// Resolves `server`'s host, which can block for as long as the system's
  /// resolver does; its target plays no part. Errors: the host is not known,
  /// the certificates cannot be read.
  static Expected<Client> create(const Url &server, ClientOptions options = {});

  Client(Client &&) noexcept;
  Client &operator=(Client &&) = delete;
  /// Aborts what is in flight.
  ~Client();

  /// Sends a request; any number can be in flight, each on a connection of its
  /// own. The handler hears of it from run() alone. A kept connection that
  /// turns out to have been closed, before a byte of the answer, is replaced by
  /// a new one, once. Errors: a method, target or field that would break the
  /// message's framing.
  Expected<CallId> start(const ClientRequest &request,
                         std::unique_ptr<ResponseHandler> handler);

  /// Ends a request without calling its handler again, and closes its
  /// connection. Nothing happens where it has ended.
  void abort(CallId id);

  /// Waits for something to happen and handles it, or returns at `until`. May
  /// return earlier without anything having happened.
  void run(TimePoint until);

  size_t inFlight() const;
  /// Connections made so far.
  uint64_t connections() const;

private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl;
};

} // namespace sluice::http

#endif // SLUICE_RUNTIME_HTTP_CLIENT_CLIENT_H
