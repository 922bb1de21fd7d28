//===- ServerOptions.cpp - the address and limits of an HTTP server -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/ServerOptions.h"

#include "runtime/http/Exchange.h"
#include "runtime/http/PeerNetwork.h"

using namespace sluice;
using namespace sluice::http;

namespace {

constexpr int64_t mib = int64_t{1} << 20;
constexpr int64_t gib = int64_t{1} << 30;
constexpr int64_t day = int64_t{24} * 60 * 60 * 1000;

struct Range {
  const char *name;
  int64_t value, low, high;
};

} // namespace

void http::failRefused(const std::shared_ptr<Exchange> &exchange, int status,
                       std::string_view message) {
  exchange->fail(status, message);
}

uint64_t http::tenantByNetwork(const Request &request) {
  return networkOf(request.peerAddress);
}

Status ServerOptions::check() const {
  const Range ranges[] = {
      {"connections", connections, 1, mib},
      {"reservedConnections", reservedConnections, 1, mib},
      {"headerBytes", headerBytes, 256, mib},
      {"headerCount", headerCount, 1, 10'000},
      {"bodyBytes", bodyBytes, 0, gib},
      {"allBodyBytes", allBodyBytes, 2 * bodyBytes, int64_t{1024} * gib},
      {"allHeldBytes", allHeldBytes, 1, int64_t{1024} * gib},
      {"unsentBytes", unsentBytes, 1, gib},
      {"allAnswerBytes", allAnswerBytes, 1, int64_t{1024} * gib},
      {"slowestRate", slowestRate, 0, gib},
      {"headerTimeout", headerTimeout.count(), 1, day},
      {"bodyTimeout", bodyTimeout.count(), 1, day},
      {"idleTimeout", idleTimeout.count(), 1, day},
      {"stallTimeout", stallTimeout.count(), 1, day},
  };
  for (const Range &range : ranges)
    if (range.value < range.low || range.value > range.high)
      return failure("server option ", range.name, ": ", range.value,
                     " is not in the range ", range.low, " to ", range.high);
  if (certificateFile.empty() != keyFile.empty())
    return failure("server options: a ", keyFile.empty()
                                             ? "certificate without its key"
                                             : "key without its certificate");
  const std::pair<const char *, bool> functions[] = {
      {"onRefusal", static_cast<bool>(onRefusal)},
      {"tenantOf", static_cast<bool>(tenantOf)},
      {"wantsBody", static_cast<bool>(wantsBody)},
      {"hasReservedPlace", static_cast<bool>(hasReservedPlace)},
  };
  for (const auto &[name, isThere] : functions)
    if (!isThere)
      return failure("server option ", name, ": is empty");
  return {};
}
