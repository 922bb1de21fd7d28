//===- PeerNetwork.h - where a client is from -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_PEERNETWORK_H
#define SLUICE_RUNTIME_HTTP_PEERNETWORK_H

#include <cstdint>
#include <string>

namespace sluice::http {

/// A number for whoever has this address: one for each IPv4 address, and one
/// for each IPv6 network of 64 bits, since one customer has such a network and
/// can use any address in it (RFC 6177). The highest bit is set. The same
/// within a process; what is no address has a number, too.
uint64_t networkOf(const std::string &address);

} // namespace sluice::http

#endif // SLUICE_RUNTIME_HTTP_PEERNETWORK_H
