//===- Url.h - http:// and https:// URLs ----------------------------------===//
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

/// The parts of an http:// or https:// URL (RFC 3986, section 3).
struct Url {
  bool tls = false;
  std::string host; ///< a name in lower case, or an address without brackets
  uint16_t port = 0;
  std::string target; ///< path and query; begins with '/'

  /// Returns host and port as in a Host header: without the scheme's default
  /// port, and with brackets around an IPv6 address.
  std::string authority() const;
};

/// Parses a URL. Fails, with a message of one line, for another scheme, a
/// missing host, characters that a host or a path cannot have, a port outside
/// of 1 to 65535, a user name, a fragment, or more than 8,192 bytes.
Expected<Url> parseUrl(std::string_view text);

} // namespace sluice::http

#endif // SLUICE_RUNTIME_HTTP_CLIENT_URL_H
