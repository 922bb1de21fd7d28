//===- ClientConnection.cpp - a client's connection to a server -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/client/ClientConnection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include <sys/socket.h>

using namespace sluice::http::client;

namespace asio = boost::asio;
using asio::ip::tcp;
using Done = std::function<void(error_code)>;

namespace {

/// The common part of plain and TLS connections. `Stream` is a tcp::socket or
/// an ssl::stream over one.
template <typename Stream> class StreamConnection : public ClientConnection {
public:
  template <typename... Args>
  explicit StreamConnection(Args &&...args)
      : stream(std::forward<Args>(args)...) {}

  void connect(const Addresses &endpoints, Done done) override {
    asio::async_connect(
        stream.lowest_layer(), endpoints,
        [self = shared_from_this(), this, done = std::move(done)](
            error_code error, const tcp::endpoint &) mutable {
          if (error)
            return done(error);
          error_code ignored;
          stream.lowest_layer().set_option(tcp::no_delay(true), ignored);
          secure(std::move(done));
        });
  }

  void write(std::string_view bytes, Done done) override {
    asio::async_write(stream, asio::buffer(bytes),
                      [self = shared_from_this(), done = std::move(done)](
                          error_code error, size_t) { done(error); });
  }

  void read(std::span<char> buffer,
            std::function<void(error_code, size_t)> done) override {
    stream.async_read_some(
        asio::buffer(buffer.data(), buffer.size()),
        [self = shared_from_this(), done = std::move(done)](
            error_code error, size_t count) { done(error, count); });
  }

  void close() override {
    error_code ignored;
    stream.lowest_layer().close(ignored);
  }

  bool isQuiet() override {
    char byte = 0;
    ssize_t count = ::recv(stream.lowest_layer().native_handle(), &byte, 1,
                           MSG_PEEK | MSG_DONTWAIT);
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

protected:
  /// Does the TLS handshake, if there is one, after connecting.
  virtual void secure(Done done) = 0;

  Stream stream;
};

class PlainConnection : public StreamConnection<tcp::socket> {
public:
  using StreamConnection::StreamConnection;

private:
  void secure(Done done) override { done({}); }
};

class TlsConnection : public StreamConnection<asio::ssl::stream<tcp::socket>> {
public:
  TlsConnection(asio::io_context &context, asio::ssl::context &tls,
                std::string host)
      : StreamConnection(context, tls), host(std::move(host)) {}

private:
  void secure(Done done) override {
    error_code error;
    // Tells a server with several names which one is meant (RFC 6066, which
    // excludes addresses).
    asio::ip::make_address(host, error);
    if (error &&
        !SSL_set_tlsext_host_name(stream.native_handle(), host.c_str()))
      return done(asio::error::no_memory);
    if (stream.set_verify_callback(asio::ssl::host_name_verification(host),
                                   error))
      return done(error);
    stream.async_handshake(asio::ssl::stream_base::client,
                           [self = shared_from_this(), done = std::move(done)](
                               error_code failed) { done(failed); });
  }

  std::string host;
};

} // namespace

std::shared_ptr<ClientConnection>
sluice::http::client::makeConnection(asio::io_context &context,
                                     asio::ssl::context *tls,
                                     const std::string &host) {
  if (tls)
    return std::make_shared<TlsConnection>(context, *tls, host);
  return std::make_shared<PlainConnection>(context);
}
