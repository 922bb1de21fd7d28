//===- Syntax.h - parts of HTTP's grammar ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pure functions over texts from clients, after RFC 9110 (fields), 9112
// (targets) and 3986 (URIs).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_SYNTAX_H
#define SLUICE_RUNTIME_HTTP_SYNTAX_H

#include "runtime/http/HttpRequest.h"

namespace sluice::http::server {

/// Compares two texts, ignoring the case of ASCII letters.
bool equalsIgnoringCase(std::string_view left, std::string_view right);

/// Returns whether `text` is a token, which the names of methods and fields
/// are.
bool isToken(std::string_view text);

/// Returns the non-empty elements of a comma-separated list, without spaces
/// around them.
std::vector<std::string_view> splitList(std::string_view text);

/// Returns whether `text` has the syntax of a Host field's value.
bool isHost(std::string_view text);

/// Sets path and query from the target, which must be an origin-form
/// ("/path?query"), an absolute-form ("http://host/path?query") or "*" with
/// OPTIONS. Returns false if it is none of these or has characters or percent
/// signs that are not allowed.
bool readTarget(Request &request);

} // namespace sluice::http::server

#endif // SLUICE_RUNTIME_HTTP_SYNTAX_H
