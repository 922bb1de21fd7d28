//===- Loop.h - what a server's connections have in common ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_LOOP_H
#define SLUICE_RUNTIME_HTTP_LOOP_H

#include "runtime/http/ExchangeState.h"
#include "runtime/http/RequestParser.h"
#include "runtime/http/Server.h"
#include "runtime/http/TlsStream.h"

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sluice::http::server {

namespace asio = boost::asio;
using LoopClock = std::chrono::steady_clock;
// With their executor's type known, sockets and timers need no allocation for
// it, and compile sooner.
using LoopExecutor = asio::io_context::executor_type;
using Socket = asio::basic_stream_socket<asio::ip::tcp, LoopExecutor>;
using Timer =
    asio::basic_waitable_timer<LoopClock, asio::wait_traits<LoopClock>,
                               LoopExecutor>;

/// For sums, by which nothing is published.
inline constexpr auto relaxed = std::memory_order_relaxed;

class Connection;

/// What all connections of a server have in common. Belongs to the server's
/// thread, but for the atomics.
struct Loop {
  explicit Loop(ServerOptions given);

  // On the server's thread.

  TenantAccounts accountsOf(const Request &request);
  /// Cuts off the slowest readers of tenants whose answers are more than they
  /// may be, until the rest fits or one is left.
  void cutOffSlowest();

  /// Sees to exchanges that could not say that they have something new.
  void wakeMissed();

  /// Without memory for it it throws, and the connection is not there.
  void add(const std::shared_ptr<Connection> &connection);
  void remove(const std::shared_ptr<Connection> &connection);
  /// Whether there is a place for one more connection from that network, after
  /// closing one that is wanted less, where there is one. Of `isReserved`
  /// places, or of the others.
  bool makePlace(uint64_t network, bool isReserved);
  /// Closes the connection that is wanted least, for one from that network.
  /// False: all are wanted.
  bool closeLeastWanted(uint64_t network, bool isReserved);

  const ServerOptions options;
  const HeaderLimits limits;
  Handler handler;
  std::optional<TlsContext> tls;
  const std::shared_ptr<Shared> shared;
  /// Outlives the server while there are exchanges, which post to it.
  const std::shared_ptr<asio::io_context> io;

  /// All that are not closed.
  std::unordered_set<std::shared_ptr<Connection>> connections;
  int64_t reserved = 0; ///< of them, in reserved places
  std::unordered_map<uint64_t, int64_t> connectionsOf; ///< a network
  TenantBudget bodies, answers;
  bool draining = false;
  std::vector<char> scratch; ///< to read into

  // Sums.
  ByteCounters traffic;
  std::atomic<int64_t> connectionCount = 0; ///< of `connections`
  std::atomic<uint64_t> accepted = 0, refused = 0;
  std::atomic<int64_t> openExchanges = 0;

private:
  std::shared_ptr<Connection> slowestReader(LoopClock::time_point now) const;
};

} // namespace sluice::http::server

#endif // SLUICE_RUNTIME_HTTP_LOOP_H
