//===- Server.cpp - an asynchronous HTTP/1.1 server -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/Server.h"

#include "runtime/base/Guarded.h"
#include "runtime/base/Insist.h"
#include "runtime/http/Connection.h"
#include "runtime/http/PeerNetwork.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <thread>
#include <utility>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::server;

using asio::ip::tcp;
using boost::system::error_code;

namespace {

using Acceptor = asio::basic_socket_acceptor<tcp, LoopExecutor>;

/// The network of a connection that has no file descriptor yet.
constexpr uint64_t noNetwork = 0;
/// How often to retry after memory or file descriptors ran out.
constexpr std::chrono::milliseconds lookInterval{100};

/// Sets a flag as long as it lives, and is moved along with an operation. The
/// flag then is right even if the operation ends by an exception.
class Raised {
public:
  explicit Raised(std::shared_ptr<bool> flag) : flag(std::move(flag)) {
    *this->flag = true;
  }
  Raised(Raised &&) = default;
  Raised &operator=(Raised &&) = delete;
  ~Raised() { lower(); }
  void lower() {
    if (std::shared_ptr<bool> mine = std::move(flag))
      *mine = false;
  }

private:
  std::shared_ptr<bool> flag;
};

} // namespace

struct Server::Impl {
  explicit Impl(ServerOptions options)
      : loop(std::move(options)), work(loop.io->get_executor()),
        acceptor(*loop.io) {}

  Status listen();
  void accept();
  void accepted(Socket socket);
  void refuseNew();
  void drain();
  void closeAll();
  void run();

  Loop loop;
  asio::executor_work_guard<LoopExecutor> work;
  Acceptor acceptor;
  /// Whether an operation of `acceptor` is pending. Shared with that operation,
  /// which exchanges can keep after the server's end.
  std::shared_ptr<bool> isAccepting = std::make_shared<bool>(false);
  uint16_t port = 0;
  std::thread thread;
  bool started = false;
};

Status Server::Impl::listen() {
  const ServerOptions &options = loop.options;
  error_code ec;
  auto address = asio::ip::make_address(options.address, ec);
  if (ec)
    return failure("cannot listen on '", options.address,
                   "': it is no numeric IPv4 or IPv6 address");
  tcp::endpoint endpoint(address, options.port);
  ec = acceptor.open(endpoint.protocol(), ec);
  if (!ec) // so that a restarted server need not wait for old connections
    ec = acceptor.set_option(asio::socket_base::reuse_address(true), ec);
  if (!ec)
    ec = acceptor.bind(endpoint, ec);
  if (!ec)
    ec = acceptor.listen(asio::socket_base::max_listen_connections, ec);
  if (!ec)
    port = acceptor.local_endpoint(ec).port();
  if (ec)
    return failure("cannot listen on ", options.address, " port ", options.port,
                   ": ", ec.message());
  return {};
}

void Server::Impl::accept() {
  acceptor.async_accept([this, pending = Raised(isAccepting)](
                            const error_code &ec, Socket socket) mutable {
    pending.lower();
    if (!acceptor.is_open())
      return;
    bool isShort = ec == asio::error::no_descriptors ||
                   ec == asio::error::no_buffer_space ||
                   ec == asio::error::no_memory ||
                   ec == boost::system::errc::too_many_files_open_in_system;
    if (isShort && loop.closeLeastWanted(noNetwork, /*isReserved=*/false))
      return accept();
    if (isShort)
      return; // run() tries again
    // Accepts the next one first, because making this connection may lack
    // memory.
    accept();
    if (!ec)
      accepted(std::move(socket));
  });
}

void Server::Impl::accepted(Socket socket) {
  loop.accepted.fetch_add(1, relaxed);
  error_code ec;
  const tcp::endpoint from = socket.remote_endpoint(ec);
  if (ec)
    return; // the client has gone
  Connection::Peer peer{from.address().to_string(), from.port()};
  const uint64_t network = networkOf(peer.address);
  const bool isOrdinary = loop.makePlace(network, /*isReserved=*/false);
  if (!isOrdinary && !loop.makePlace(network, /*isReserved=*/true)) {
    loop.refused.fetch_add(1, relaxed);
    return;
  }
  auto connection = std::make_shared<Connection>(
      loop, std::move(socket), std::move(peer), /*isReserved=*/!isOrdinary);
  loop.add(connection);
  Status started = guarded([&] {
    connection->start();
    return Status();
  });
  if (!started.ok())
    connection->close();
}

void Server::Impl::refuseNew() {
  error_code ignored;
  ignored = acceptor.close(ignored);
  loop.draining = true;
}

void Server::Impl::drain() {
  refuseNew();
  for (auto each = loop.connections.begin(); each != loop.connections.end();) {
    std::shared_ptr<Connection> connection = *each++;
    connection->drain(); // may remove the connection
  }
}

void Server::Impl::closeAll() {
  refuseNew();
  while (!loop.connections.empty()) {
    std::shared_ptr<Connection> connection = *loop.connections.begin();
    connection->close();
  }
}

/// Runs the server's thread. Exceptions mean that memory ran out; connections
/// handle their own. An exception that gets here may have ended accepting,
/// which the loop starts again.
void Server::Impl::run() {
  while (!loop.io->stopped())
    (void)guarded([this] {
      loop.io->run_for(lookInterval);
      loop.wakeMissed();
      if (!*isAccepting && acceptor.is_open())
        accept();
      return Status();
    });
}

Server::Server(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}

Server::~Server() {
  (void)guarded([this] {
    stop();
    return Status();
  });
}

Expected<std::unique_ptr<Server>> Server::create(ServerOptions options,
                                                 Handler handler) {
  using Made = Expected<std::unique_ptr<Server>>;
  return guarded([&]() -> Made {
    SLUICE_RETURN_IF_ERROR(options.check());
    if (!handler)
      return failure("the server has no handler");
    auto impl = std::make_unique<Impl>(std::move(options));
    Loop &loop = impl->loop;
    loop.handler = std::move(handler);
    if (!loop.options.certificateFile.empty()) {
      auto tls = TlsContext::create(loop.options.certificateFile,
                                    loop.options.keyFile);
      if (!tls)
        return tls.status();
      loop.tls.emplace(tls.take());
    }
    SLUICE_RETURN_IF_ERROR(impl->listen());
    return std::unique_ptr<Server>(new Server(std::move(impl)));
  });
}

Status Server::start() {
  if (impl->started)
    return failure("the server has been started or stopped before");
  impl->started = true;
  return guarded([this] {
    impl->accept();
    impl->thread = std::thread([this] { impl->run(); });
    return Status();
  });
}

uint16_t Server::port() const { return impl->port; }

void Server::drain() {
  insist([this] {
    asio::post(*impl->loop.io, [impl = impl.get()] { impl->drain(); });
  });
}

int64_t Server::open() const { return impl->loop.openExchanges.load(relaxed); }

void Server::stop() {
  impl->started = true;
  if (!impl->thread.joinable()) {
    error_code ignored;
    ignored = impl->acceptor.close(ignored);
    return;
  }
  insist([this] {
    asio::post(*impl->loop.io, [impl = impl.get()] {
      impl->closeAll();
      impl->loop.io->stop();
    });
  });
  impl->thread.join();
}

ServerCounters Server::counters() const {
  const Loop &loop = impl->loop;
  return {loop.connectionCount.load(relaxed), loop.accepted.load(relaxed),
          loop.refused.load(relaxed), loop.traffic.in.load(relaxed),
          loop.traffic.out.load(relaxed)};
}
