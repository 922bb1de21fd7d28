//===- Syntax.h - pieces of HTTP's grammar --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pure functions over texts that clients sent. After RFC 9110 (fields), 9112
// (targets) and 3986 (URIs).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_SYNTAX_H
#define SLUICE_RUNTIME_HTTP_SYNTAX_H

#include "runtime/http/HttpRequest.h"

namespace sluice::http::server {

/// Letters of ASCII alone.
bool equalsIgnoringCase(std::string_view left, std::string_view right);

/// One or more of the characters that names of methods and fields are made of.
bool isToken(std::string_view text);

/// The elements of a comma-separated list, without spaces around them and
/// without empty ones.
std::vector<std::string_view> splitList(std::string_view text);

/// Whether it can be the value of a Host field. What it names does not matter.
bool isHost(std::string_view text);

/// Sets path and query from target: an origin-form ("/path?query"), an
/// absolute-form ("http://host/path?query") or "*" with OPTIONS. False: it is
/// none of them, or it has characters or percent signs that are not allowed.
bool readTarget(Request &request);

} // namespace sluice::http::server

#endif // SLUICE_RUNTIME_HTTP_SYNTAX_H
