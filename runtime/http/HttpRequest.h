//===- HttpRequest.h - what a client asks for -----------------------------===//
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

/// Names and values, in order; a name may be there more than once.
using Fields = std::vector<std::pair<std::string, std::string>>;

/// A request that has been received in full and is well-formed. Plain data.
struct Request {
  std::string method; ///< as sent: "GET"
  /// As sent, in visible ASCII characters: fit for messages and logs.
  std::string target;
  /// Of the target, percent-decoded: any bytes but 0. Begins with '/', or is
  /// "*" (for OPTIONS).
  std::string path;
  /// Of the target: names and values decoded as HTML forms encode them
  /// ("a=1+2%21" is a, "1 2!"); any bytes. A name without '=' has the value "".
  Fields query;
  /// Values without spaces around them; visible ASCII, spaces, tabs, and bytes
  /// from 0x80. Trailers are not among them.
  Fields fields;
  std::string body; ///< without chunks' framing
  std::string peerAddress;
  uint16_t peerPort = 0;
  bool isHttp10 = false; ///< else HTTP/1.1
  /// Whether the client wants to use the connection again.
  bool keepAlive = true;

  /// The value of the first field of that name, in small or capital letters;
  /// null where there is none. Valid as long as `fields` stays as it is.
  const std::string *field(std::string_view name) const;
  /// The value of the first query parameter of exactly that name, or null.
  const std::string *parameter(std::string_view name) const;
};

} // namespace sluice::http

#endif // SLUICE_RUNTIME_HTTP_HTTPREQUEST_H
