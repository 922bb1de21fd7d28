//===- PeerNetwork.h - the network of a client's address ------------------===//
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

/// Returns a number for the network of `address`: a different one for each IPv4
/// address and for each IPv6 network of 64 bits, because a customer has such a
/// network and can use any address in it (RFC 6177). The highest bit is set.
/// The number is stable within a process. A text that is not an address also
/// gets a number.
uint64_t networkOf(const std::string &address);

} // namespace sluice::http

#endif // SLUICE_RUNTIME_HTTP_PEERNETWORK_H
