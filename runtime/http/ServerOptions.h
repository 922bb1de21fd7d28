//===- ServerOptions.h - the address and limits of an HTTP server ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Says where a server listens and how much it accepts. Everything that a client
// could make grow has a limit here.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_SERVEROPTIONS_H
#define SLUICE_RUNTIME_HTTP_SERVEROPTIONS_H

#include "runtime/base/Status.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::http {

class Exchange;
struct Request;

/// Answers, before it returns, a request that the server refuses before a
/// handler sees it; the connection then closes. `status` is the answer's status
/// and `message` one line of ASCII that says what is wrong. The exchange's
/// request has what is known of it, perhaps only the client's address; its
/// method is empty if no header could be read. Called on the server's thread;
/// must not block.
using RefusalHandler =
    std::function<void(const std::shared_ptr<Exchange> &exchange, int status,
                       std::string_view message)>;

/// Answers a question about a request whose header has come but not its body.
/// Called on the server's thread; must not block.
using RequestCheck = std::function<bool(const Request &request)>;

/// Returns the tenant of a request: a number that all requests of the tenant
/// have in common. If a request is refused before its header was read, only the
/// peer's address is known. Called on the server's thread; must not block.
using TenantRule = std::function<uint64_t(const Request &request)>;

/// Returns the networkOf() of the peer's address.
uint64_t tenantByNetwork(const Request &request);

/// Answers by Exchange::fail().
void failRefused(const std::shared_ptr<Exchange> &exchange, int status,
                 std::string_view message);

struct ServerOptions {
  /// A numeric IPv4 or IPv6 address: "127.0.0.1", "0.0.0.0", "::". No names.
  std::string address = "127.0.0.1";
  /// 0: any free port; Server::port() returns it.
  uint16_t port = 0;

  /// PEM files: the certificate followed by its chain, and its key without a
  /// passphrase. With both, the port speaks only TLS 1.2 and 1.3. Set both or
  /// none.
  std::string certificateFile;
  std::string keyFile;

  /// The number of open connections. A further one takes the place of a
  /// connection without a request, from the network (networkOf()) that has the
  /// most connections. If there is none, it takes the place of one that is
  /// sending its body or reading its answer, from a network that has more
  /// connections than its own. The same happens if the process runs out of file
  /// descriptors, one of which each connection takes. Each tenant may have as
  /// many requests that are being answered as there are places left for those
  /// of others (TenantBudget), and at least one; a further one is answered with
  /// 503.
  int64_t connections = 1024;
  /// The number of further connections when all places are taken. Their
  /// requests are answered with 503 unless they have a reserved place.
  int64_t reservedConnections = 64;
  /// The size of a request line with its fields, of one chunk's header, and of
  /// the trailers. Also the number of bytes that the server reads ahead while
  /// it answers a request.
  int64_t headerBytes = int64_t{16} << 10;
  /// The number of fields of one request, and of its trailers.
  int64_t headerCount = 100;
  /// The size of one request's body, without the framing of chunks.
  int64_t bodyBytes = int64_t{32} << 20;
  /// The bytes of all bodies that are being received or held by an Exchange.
  /// Each tenant may hold as many of these bytes as are free (TenantBudget); a
  /// request that exceeds this is answered with 503.
  int64_t allBodyBytes = int64_t{256} << 20;
  /// The bytes that Exchange::hold() counts, likewise.
  int64_t allHeldBytes = int64_t{512} << 20;
  /// The bytes of one stream that write() may leave unsent, in addition to the
  /// kernel's. A client with more unsent bytes is too slow and is cut off, so a
  /// single write() of more than that also ends the stream.
  int64_t unsentBytes = int64_t{1} << 20;

  /// The bytes of all answers, whole ones and streams, that wait for their
  /// readers. Each tenant may hold as many of these bytes as are free
  /// (TenantBudget). If a tenant exceeds this, its slowest readers are cut off
  /// until the rest fits or one reader is left.
  int64_t allAnswerBytes = int64_t{256} << 20;

  /// The time for the TLS handshake; for the first byte of a new connection;
  /// and, from its first byte, for a request's header.
  std::chrono::milliseconds headerTimeout{10'000};
  /// The time from the end of the header to the end of the body.
  std::chrono::milliseconds bodyTimeout{60'000};
  /// The time from the end of an answer to the first byte of the next request.
  std::chrono::milliseconds idleTimeout{75'000};
  /// While output waits for it, a client is cut off if it takes nothing for
  /// this long, if its machine is gone, or if it takes less than `slowestRate`
  /// bytes a second over this time.
  std::chrono::milliseconds stallTimeout{30'000};
  int64_t slowestRate = 1024;

  RefusalHandler onRefusal = failRefused;
  TenantRule tenantOf = tenantByNetwork;
  /// Returns whether the server should read the body of a request. If not, the
  /// handler is called at once without it, and the connection closes after the
  /// answer.
  RequestCheck wantsBody = [](const Request &) { return true; };
  /// Returns whether a request is answered on one of `reservedConnections`.
  RequestCheck hasReservedPlace = [](const Request &) { return false; };

  /// Fails if a limit is out of range, only one of certificate and key is
  /// given, or a function is empty. Names the option.
  Status check() const;
};

} // namespace sluice::http

#endif // SLUICE_RUNTIME_HTTP_SERVEROPTIONS_H
