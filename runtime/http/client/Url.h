//===- Url.h - http:// and https:// addresses -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_CLIENT_URL_H
#define SLUICE_RUNTIME_HTTP_CLIENT_URL_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::http {

/// The parts of an http:// or https:// address (RFC 3986, section 3).
struct Url {
  bool tls = false;
  std::string host; ///< a name in small letters, or an address; no brackets
  uint16_t port = 0;
  std::string target; ///< path and query; begins with '/'

  /// Host and port as a Host header has them: the port only where it is not the
  /// scheme's own, an IPv6 address in brackets.
  std::string authority() const;
};

/// Errors, each one line: another scheme, no host, characters that a host or a
/// path cannot have, a port outside of 1 to 65535, a user name, a fragment,
/// more than 8,192 bytes.
Expected<Url> parseUrl(std::string_view text);

} // namespace sluice::http

#endif // SLUICE_RUNTIME_HTTP_CLIENT_URL_H
