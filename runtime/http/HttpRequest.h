//===- HttpRequest.h - a parsed HTTP request ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_HTTPREQUEST_H
#define SLUICE_RUNTIME_HTTP_HTTPREQUEST_H

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::http {

/// Pairs of name and value, in order; a name may occur more than once.
using Fields = std::vector<std::pair<std::string, std::string>>;

/// A complete, well-formed request. Plain data.
struct Request {
  std::string method; ///< as sent: "GET"
  /// The target as sent, in visible ASCII, so that messages and logs may show
  /// it.
  std::string target;
  /// The path of the target, percent-decoded: any bytes but 0. Begins with '/',
  /// or is "*" (for OPTIONS).
  std::string path;
  /// The query of the target: names and values decoded as HTML forms encode
  /// them ("a=1+2%21" is a, "1 2!"); any bytes. A name without '=' has the
  /// value "".
  Fields query;
  /// The header fields; trailers are not included. Values have no spaces around
  /// them, and contain visible ASCII, spaces, tabs and bytes from 0x80.
  Fields fields;
  std::string body; ///< without the framing of chunks
  std::string peerAddress;
  uint16_t peerPort = 0;
  bool isHttp10 = false; ///< else HTTP/1.1
  /// Whether the client wants to use the connection for another request.
  bool keepAlive = true;

  /// Returns the value of the first field with this name, ignoring case; null
  /// if there is none. Valid until `fields` changes.
  const std::string *field(std::string_view name) const;
  /// Returns the value of the first query parameter with exactly this name, or
  /// null.
  const std::string *parameter(std::string_view name) const;
};

} // namespace sluice::http

#endif // SLUICE_RUNTIME_HTTP_HTTPREQUEST_H
