//===- Loop.cpp - the state that all connections of a server share --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/Loop.h"

#include "runtime/base/Guarded.h"
#include "runtime/http/Connection.h"

#include <boost/asio/post.hpp>

#include <tuple>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::server;

/// The size of one read.
static constexpr size_t scratchBytes = size_t{64} << 10;

Loop::Loop(ServerOptions given)
    : options(std::move(given)),
      limits{static_cast<size_t>(options.headerBytes),
             static_cast<size_t>(options.headerCount),
             static_cast<uint64_t>(options.bodyBytes)},
      shared(std::make_shared<Shared>()),
      io(std::make_shared<asio::io_context>(/*concurrency_hint=*/1)),
      bodies(options.allBodyBytes), answers(options.allAnswerBytes),
      held(options.allHeldBytes), requests(options.connections),
      scratch(scratchBytes) {
  shared->unsentBytes = static_cast<size_t>(options.unsentBytes);
  // Exchanges can outlive the loop, but then the context no longer runs.
  shared->tooMuch = [this, all = shared.get(), context = std::weak_ptr(io)] {
    std::shared_ptr<asio::io_context> running = context.lock();
    if (!running || all->cutsOff.exchange(true, relaxed))
      return;
    Status posted = guarded([&] {
      asio::post(*running, [this] {
        shared->cutsOff.store(false, relaxed);
        cutOffSlowest();
      });
      return Status();
    });
    if (!posted.ok()) // the next answer calls again
      all->cutsOff.store(false, relaxed);
  };
}

TenantAccounts Loop::accountsOf(const Request &request) {
  uint64_t tenant = options.tenantOf(request);
  return {bodies.accountOf(tenant), answers.accountOf(tenant),
          held.accountOf(tenant), requests.accountOf(tenant)};
}

void Loop::wakeMissed() {
  if (!shared->hasMissed.exchange(false))
    return;
  for (auto each = connections.begin(); each != connections.end();) {
    std::shared_ptr<Connection> connection = *each++;
    connection->onWake(); // may remove the connection
  }
}

//===----------------------------------------------------------------------===//
// Slow readers
//===----------------------------------------------------------------------===//

void Loop::cutOffSlowest() {
  const LoopClock::time_point now = LoopClock::now();
  while (std::shared_ptr<Connection> slowest = slowestReader(now))
    slowest->cutOff();
}

/// Returns the slowest reader among tenants whose answers exceed their budget;
/// null if none may be cut off. A tenant's only reader is spared while all
/// answers together are within the budget.
std::shared_ptr<Connection>
Loop::slowestReader(LoopClock::time_point now) const {
  std::unordered_map<const BudgetAccount *, int64_t> readers;
  int64_t all = 0;
  for (const std::shared_ptr<Connection> &each : connections)
    if (const BudgetAccount *account = each->waitingAnswers()) {
      ++readers[account];
      ++all;
    }
  std::shared_ptr<Connection> slowest;
  double min = 0;
  for (const std::shared_ptr<Connection> &each : connections) {
    const BudgetAccount *account = each->waitingAnswers();
    if (!account || !account->isOver())
      continue;
    if (account->isTotalOver() ? all < 2 : readers[account] < 2)
      continue;
    double rate = each->readingRate(now);
    if (slowest && rate >= min)
      continue;
    slowest = each;
    min = rate;
  }
  return slowest;
}

//===----------------------------------------------------------------------===//
// Places for connections
//===----------------------------------------------------------------------===//

void Loop::add(const std::shared_ptr<Connection> &connection) {
  int64_t &count = connectionsOf[connection->network()];
  try {
    connections.insert(connection);
  } catch (...) {
    if (count == 0)
      connectionsOf.erase(connection->network());
    throw;
  }
  ++count;
  reserved += connection->isReserved();
  connectionCount.fetch_add(1, relaxed);
}

void Loop::remove(const std::shared_ptr<Connection> &connection) {
  if (connections.erase(connection) == 0)
    return;
  auto count = connectionsOf.find(connection->network());
  if (--count->second == 0)
    connectionsOf.erase(count);
  reserved -= connection->isReserved();
  connectionCount.fetch_sub(1, relaxed);
}

bool Loop::makePlace(uint64_t network, bool isReserved) {
  auto all = static_cast<int64_t>(connections.size());
  bool isFree = isReserved ? reserved < options.reservedConnections
                           : all - reserved < options.connections;
  return isFree || closeLeastWanted(network, isReserved);
}

bool Loop::closeLeastWanted(uint64_t network, bool isReserved) {
  using Worth = Connection::Worth;
  auto countOf = [this](uint64_t one) {
    auto found = connectionsOf.find(one);
    return found == connectionsOf.end() ? 0 : found->second;
  };
  const int64_t max = countOf(network) + 1;
  // Order: lowest worth, then the network with the most connections, then the
  // longest time.
  auto rankOf = [&](const Connection &one) {
    return std::tuple(one.worth(), -countOf(one.network()), one.since());
  };
  std::shared_ptr<Connection> min;
  for (const std::shared_ptr<Connection> &each : connections) {
    Worth worth = each->worth();
    bool isAtWork = worth == Worth::Sending || worth == Worth::Reading;
    if (each->isReserved() != isReserved || worth == Worth::Served ||
        (isAtWork && countOf(each->network()) <= max))
      continue;
    if (!min || rankOf(*each) < rankOf(*min))
      min = each;
  }
  if (!min)
    return false;
  refused.fetch_add(1, relaxed);
  min->close();
  return true;
}
