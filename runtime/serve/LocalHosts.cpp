//===- LocalHosts.cpp - the host names that a local server answers to -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/LocalHosts.h"

#include "runtime/http/Syntax.h"

using namespace sluice;
using namespace sluice::serve;

using http::server::equalsIgnoringCase;

bool serve::isLoopback(std::string_view host) {
  // Only digits, so that 127.example.org does not count.
  return equalsIgnoringCase(host, "localhost") || host == "::1" ||
         (host.starts_with("127.") &&
          host.find_first_not_of("0123456789.") == host.npos);
}

/// Returns the Host field without port and brackets.
static std::string_view nameOf(std::string_view field) {
  if (field.starts_with('['))
    return field.substr(1, field.find(']') - 1);
  return field.substr(0, field.find(':'));
}

bool LocalHosts::admits(const http::Request &request) const {
  const std::string *field = request.field("Host");
  if (!checks || !field)
    return true;
  std::string_view name = nameOf(*field);
  return isLoopback(name) || equalsIgnoringCase(name, own);
}
