//===- ClientConnection.h - a client's connection to a server -------------===//
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

/// A TCP connection, plain or under TLS. An operation calls its function later,
/// on the context's thread, with operation_aborted after close(). A connection
/// lives until the last function has been called.
class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
public:
  virtual ~ClientConnection() = default;

  /// Tries the endpoints one after another, then does the TLS handshake.
  virtual void connect(const Addresses &endpoints,
                       std::function<void(error_code)> done) = 0;
  /// Writes all of `bytes`, which must not change until `done`.
  virtual void write(std::string_view bytes,
                     std::function<void(error_code)> done) = 0;
  /// Reads the available bytes into `buffer`, at least one.
  virtual void read(std::span<char> buffer,
                    std::function<void(error_code, size_t)> done) = 0;
  virtual void close() = 0;
  /// Returns whether the connection is open and has nothing to read, so that it
  /// can be used for another request.
  virtual bool isQuiet() = 0;
};

/// Makes a connection, a plain one if `tls` is null. Under TLS, the server's
/// certificate must name `host`.
std::shared_ptr<ClientConnection>
makeConnection(boost::asio::io_context &context, boost::asio::ssl::context *tls,
               const std::string &host);

} // namespace sluice::http::client

#endif // SLUICE_RUNTIME_HTTP_CLIENT_CLIENTCONNECTION_H
