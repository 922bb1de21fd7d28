//===- ServerOptions.h - an HTTP server's limits --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a server listens, and how much of what it takes. Everything that a
// client could make grow has a limit here.
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

/// Answers what the server refuses before a handler sees it, with `status`, and
/// before it returns; the connection closes behind that answer. `message` is
/// one line in ASCII that says what is wrong. The exchange's request has what
/// is known of it, which may be the client's address alone; its method is empty
/// where no header could be read. Called on the server's thread; it must not
/// block.
using RefusalHandler =
    std::function<void(const std::shared_ptr<Exchange> &exchange, int status,
                       std::string_view message)>;

/// Says something of a request of which all has come but its body. Called on
/// the server's thread; it must not block.
using RequestCheck = std::function<bool(const Request &request)>;

/// Whom a request counts for: a number that requests of the same tenant have in
/// common. Of a request that is refused without its header, the peer's address
/// alone is known. Called on the server's thread; it must not block.
using TenantRule = std::function<uint64_t(const Request &request)>;

/// By networkOf() the peer's address.
uint64_t tenantByNetwork(const Request &request);

/// By Exchange::fail().
void failRefused(const std::shared_ptr<Exchange> &exchange, int status,
                 std::string_view message);

struct ServerOptions {
  /// A numeric IPv4 or IPv6 address: "127.0.0.1", "0.0.0.0", "::". No names.
  std::string address = "127.0.0.1";
  /// 0: any free one; Server::port() tells which.
  uint16_t port = 0;

  /// PEM files: the certificate with the chain behind it, and its key, without
  /// a passphrase. Both, and the port speaks TLS 1.2 and 1.3 only; or none.
  std::string certificateFile;
  std::string keyFile;

  /// Open connections. A further one takes the place of one that has no
  /// request, of the network (networkOf()) that has the most connections. Where
  /// there is none, one that sends its body or reads its answer, of a network
  /// that has more connections than the new one's. Each connection takes a file
  /// descriptor: where the process has no more of them, it is the same.
  int64_t connections = 1024;
  /// So many more, where there is no such connection: their requests are
  /// answered with 503 unless they have a reserved place.
  int64_t reservedConnections = 64;
  /// Of a request line and its fields together; of one chunk's header; of the
  /// trailers. Also how much a client may send ahead while its request is being
  /// answered before the server reads on.
  int64_t headerBytes = int64_t{16} << 10;
  /// Fields of one request, and fields of its trailers.
  int64_t headerCount = 100;
  /// Of one request's body, without its chunks' framing.
  int64_t bodyBytes = int64_t{32} << 20;
  /// Of all bodies that are being received, or that are held by an Exchange
  /// from which they have not been taken. Each tenant may have as many of these
  /// bytes as are left free (TenantBudget); what goes beyond is answered with
  /// 503.
  int64_t allBodyBytes = int64_t{256} << 20;
  /// Of one stream: what write() may leave unsent, besides what the kernel
  /// holds. A client that lets more pile up is too slow: it is cut off. So one
  /// write() of more than that ends a stream as well.
  int64_t unsentBytes = int64_t{1} << 20;

  /// Of all answers, whole ones and streams, that wait for their readers. Each
  /// tenant may have as many of these bytes as are left free (TenantBudget). Of
  /// one that has more the slowest readers are cut off, until the rest fits or
  /// one of them is left.
  int64_t allAnswerBytes = int64_t{256} << 20;

  /// For the TLS handshake; then, from its first byte, for a request's header;
  /// also for a new connection to send that first byte.
  std::chrono::milliseconds headerTimeout{10'000};
  /// From the end of the header to the end of the body.
  std::chrono::milliseconds bodyTimeout{60'000};
  /// From the end of an answer to the first byte of the next request.
  std::chrono::milliseconds idleTimeout{75'000};
  /// A client that takes nothing for this long while something waits for it is
  /// cut off; so is one whose machine is gone, and one that takes less than
  /// `slowestRate` bytes a second over this time.
  std::chrono::milliseconds stallTimeout{30'000};
  int64_t slowestRate = 1024;

  RefusalHandler onRefusal = failRefused;
  TenantRule tenantOf = tenantByNetwork;
  /// Whether the body of a request is wanted. Where not, it is not read: the
  /// handler is called at once without it, and the connection closes behind the
  /// answer.
  RequestCheck wantsBody = [](const Request &) { return true; };
  /// Whether a request is answered on one of `reservedConnections`.
  RequestCheck hasReservedPlace = [](const Request &) { return false; };

  /// Errors: a limit out of its range, a certificate without a key or a key
  /// without a certificate, a function that is empty. Names the option.
  Status check() const;
};

} // namespace sluice::http

#endif // SLUICE_RUNTIME_HTTP_SERVEROPTIONS_H
