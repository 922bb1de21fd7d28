//===- Loop.h - the state that all connections of a server share ----------===//
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
// Naming the executor's type saves sockets and timers an allocation, and
// compiles faster.
using LoopExecutor = asio::io_context::executor_type;
using Socket = asio::basic_stream_socket<asio::ip::tcp, LoopExecutor>;
using Timer =
    asio::basic_waitable_timer<LoopClock, asio::wait_traits<LoopClock>,
                               LoopExecutor>;

/// For sums, which publish nothing else.
inline constexpr auto relaxed = std::memory_order_relaxed;

class Connection;

/// The state that all connections of a server share. Belongs to the server's
/// thread, except the atomics.
struct Loop {
  explicit Loop(ServerOptions given);

  // Called on the server's thread.

  TenantAccounts accountsOf(const Request &request);
  /// Cuts off the slowest readers of tenants whose waiting answers exceed their
  /// budget, until the rest fits or one reader is left.
  void cutOffSlowest();

  /// Wakes the connections of exchanges that had no memory to wake the thread.
  void wakeMissed();

  /// Adds a connection. If memory runs out, throws and adds nothing.
  void add(const std::shared_ptr<Connection> &connection);
  void remove(const std::shared_ptr<Connection> &connection);
  /// Returns whether there is a place for one more connection from `network`, a
  /// reserved one or an ordinary one; closes the least wanted connection for it
  /// if necessary and possible.
  bool makePlace(uint64_t network, bool isReserved);
  /// Closes the least wanted connection in favour of one from `network`.
  /// Returns false if all are wanted.
  bool closeLeastWanted(uint64_t network, bool isReserved);

  const ServerOptions options;
  const HeaderLimits limits;
  Handler handler;
  std::optional<TlsContext> tls;
  const std::shared_ptr<Shared> shared;
  /// Outlives the server while there are exchanges, because they post to it.
  const std::shared_ptr<asio::io_context> io;

  /// All connections that are not closed.
  std::unordered_set<std::shared_ptr<Connection>> connections;
  int64_t reserved = 0; ///< number of `connections` in reserved places
  std::unordered_map<uint64_t, int64_t> connectionsOf; ///< [network]
  TenantBudget bodies, answers, held, requests;
  bool draining = false;
  std::vector<char> scratch; ///< buffer for reading, shared by all

  // Statistics.
  ByteCounters traffic;
  std::atomic<int64_t> connectionCount = 0; ///< size of `connections`
  std::atomic<uint64_t> accepted = 0, refused = 0;
  std::atomic<int64_t> openExchanges = 0;

private:
  std::shared_ptr<Connection> slowestReader(LoopClock::time_point now) const;
};

} // namespace sluice::http::server

#endif // SLUICE_RUNTIME_HTTP_LOOP_H
