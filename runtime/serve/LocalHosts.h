//===- LocalHosts.h - the host names that a local server answers to -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Protects a server without keys on a loopback address from DNS rebinding.
// Every program on the machine may use such a server, and a browser is one of
// them. A web page cannot read the answers of another origin; but its owner can
// point the page's own name to 127.0.0.1 after the page has loaded, and then
// the server is of the page's origin. The request's Host field still has that
// name, so requests with foreign names are refused.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_LOCALHOSTS_H
#define SLUICE_RUNTIME_SERVE_LOCALHOSTS_H

#include "runtime/http/HttpRequest.h"

#include <string>
#include <string_view>

namespace sluice::serve {

/// Returns whether `host` is "localhost", "::1" (without brackets) or an
/// address in 127.0.0.0/8.
bool isLoopback(std::string_view host);

/// Immutable, and therefore thread-safe.
class LocalHosts {
public:
  /// Admits every request.
  LocalHosts() = default;
  /// Admits requests whose Host, apart from its port, is `host` or a loopback
  /// name, and requests without a Host.
  explicit LocalHosts(std::string host) : own(std::move(host)), checks(true) {}

  bool admits(const http::Request &request) const;

private:
  std::string own;
  bool checks = false;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_LOCALHOSTS_H
