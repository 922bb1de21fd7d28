//===- CrossOrigin.h - permission for web pages of other origins ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements cross-origin resource sharing (the Fetch standard, section 3.2): a
// browser lets a page of another origin use the server only if the server
// allows it. No origin is allowed unless it is listed; `*` allows all. Pages
// send keys in a header of their own, not as cookies, so credentials are never
// allowed.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_CROSSORIGIN_H
#define SLUICE_RUNTIME_SERVE_CROSSORIGIN_H

#include "runtime/base/Status.h"
#include "runtime/http/HttpRequest.h"

#include <string>
#include <vector>

namespace sluice::serve {

/// Immutable, and therefore thread-safe.
class CrossOrigin {
public:
  /// Fails if an element is neither `*` nor an origin as browsers send it
  /// ("https://example.org", "http://localhost:3000").
  static Expected<CrossOrigin> create(std::vector<std::string> origins);

  /// Returns whether `request` is a preflight, which asks for permission in
  /// advance and carries no key. Always false if no origins are listed.
  bool isPreflight(const http::Request &request) const;
  /// Returns the fields of a preflight's answer, beyond those of fields(); none
  /// if the origin is not listed. The page may send every field that it asks
  /// for: clients have many of their own (X-Stainless-Lang), and none of them
  /// has more effect here than in a request from elsewhere.
  http::Fields preflightFields(const http::Request &request) const;

  /// Returns the fields that go on every answer to `request`. A request that
  /// could not be read has no known origin, so it gets permission only if all
  /// have it.
  http::Fields fields(const http::Request &request) const;

private:
  /// Returns the permission for `request`: "*", an origin, or "" for none.
  std::string permission(const http::Request &request) const;

  std::vector<std::string> origins;
  bool all = false;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_CROSSORIGIN_H
