//===- CrossOrigin.h - which web pages may use the server -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cross-origin resource sharing (the Fetch standard, section 3.2): a browser
// lets a page of another origin use the server only where the server says so.
// Off unless origins are listed; `*` lists all. Pages send keys in a header of
// their own, not as cookies, so credentials are never allowed.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_CROSSORIGIN_H
#define SLUICE_RUNTIME_SERVE_CROSSORIGIN_H

#include "runtime/base/Status.h"
#include "runtime/http/HttpRequest.h"

#include <string>
#include <vector>

namespace sluice::serve {

/// Immutable once made; then thread-safe.
class CrossOrigin {
public:
  /// Errors: something that is neither `*` nor an origin as browsers send it
  /// ("https://example.org", "http://localhost:3000").
  static Expected<CrossOrigin> create(std::vector<std::string> origins);

  /// Whether this asks for permission in advance, which carries no key. Always
  /// false where no origins are listed.
  bool isPreflight(const http::Request &request) const;
  /// The fields that answer isPreflight(), beside fields(); none where the
  /// origin is not listed. A page may send the fields that it asks for: clients
  /// have many of their own (X-Stainless-Lang), and none of them does more here
  /// than it would do in a request from elsewhere.
  http::Fields preflightFields(const http::Request &request) const;

  /// The fields that go on every answer to `request`. One that could not be
  /// read, so that its origin is not known, has permission where all have.
  http::Fields fields(const http::Request &request) const;

private:
  /// What is allowed for `request`: "*", an origin, or "".
  std::string permission(const http::Request &request) const;

  std::vector<std::string> origins;
  bool all = false;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_CROSSORIGIN_H
