//===- ClientConnection.h - bytes to and from a server --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_CLIENT_CLIENTCONNECTION_H
#define SLUICE_RUNTIME_HTTP_CLIENT_CLIENTCONNECTION_H

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::http::client {

using boost::system::error_code;
using Addresses = std::vector<boost::asio::ip::tcp::endpoint>;

/// A TCP connection, plain or under TLS. Operations call their function on the
/// context's thread, never from within the call, with operation_aborted after
/// close(); a connection lives until the last of them has been called.
class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
public:
  virtual ~ClientConnection() = default;

  /// Tries the endpoints one after another, then makes the TLS handshake.
  virtual void connect(const Addresses &endpoints,
                       std::function<void(error_code)> done) = 0;
  /// Writes all of `bytes`, which must stay as they are until `done`.
  virtual void write(std::string_view bytes,
                     std::function<void(error_code)> done) = 0;
  /// Reads what there is into `buffer`, at least a byte.
  virtual void read(std::span<char> buffer,
                    std::function<void(error_code, size_t)> done) = 0;
  virtual void close() = 0;
  /// Whether it is open and there is nothing to read: fit for a next request.
  virtual bool isQuiet() = 0;
};

/// `tls` is null for a plain connection; else `host` is the name that the
/// server's certificate must have.
std::shared_ptr<ClientConnection>
makeConnection(boost::asio::io_context &context, boost::asio::ssl::context *tls,
               const std::string &host);

} // namespace sluice::http::client

#endif // SLUICE_RUNTIME_HTTP_CLIENT_CLIENTCONNECTION_H
