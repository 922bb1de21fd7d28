//===- LocalHosts.h - by which names a server may be reached --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A server that only this machine reaches is open to whoever is on it, and a
// browser is. A web page cannot read the answers of another origin; but its
// owner can let the page's own name point to 127.0.0.1 once the page is loaded
// (DNS rebinding), and then the server is of the page's origin. The name still
// stands in the request's Host.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_LOCALHOSTS_H
#define SLUICE_RUNTIME_SERVE_LOCALHOSTS_H

#include "runtime/http/HttpRequest.h"

#include <string>
#include <string_view>

namespace sluice::serve {

/// "localhost", 127.0.0.0/8 or ::1, without brackets.
bool isLoopback(std::string_view host);

/// Immutable once made; then thread-safe.
class LocalHosts {
public:
  /// Admits every request.
  LocalHosts() = default;
  /// Admits requests whose Host, whatever its port, is `host` or a name of the
  /// loopback address, and those without one.
  explicit LocalHosts(std::string host) : own(std::move(host)), checks(true) {}

  bool admits(const http::Request &request) const;

private:
  std::string own;
  bool checks = false;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_LOCALHOSTS_H
