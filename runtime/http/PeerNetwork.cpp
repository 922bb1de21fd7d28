//===- PeerNetwork.cpp - the network of a client's address ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/PeerNetwork.h"

#include <arpa/inet.h>
#include <functional>

using namespace sluice;

uint64_t http::networkOf(const std::string &address) {
  constexpr uint64_t ofNetwork = uint64_t{1} << 63;
  constexpr size_t networkBytes = 8;
  constexpr size_t v4Begin = 12; // offset of an IPv4 address mapped to IPv6
  std::string name = address;
  in6_addr six = {};
  in_addr four = {};
  auto take = [&name](const void *bytes, size_t count) {
    name.assign(static_cast<const char *>(bytes), count);
  };
  if (inet_pton(AF_INET, address.c_str(), &four) == 1)
    take(&four, sizeof four);
  else if (inet_pton(AF_INET6, address.c_str(), &six) == 1) {
    if (IN6_IS_ADDR_V4MAPPED(&six))
      take(six.s6_addr + v4Begin, sizeof four);
    else
      take(six.s6_addr, networkBytes);
  }
  return std::hash<std::string>()(name) | ofNetwork;
}
