//===- CrossOrigin.cpp - which web pages may use the server ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/CrossOrigin.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::serve;

/// Scheme, host and perhaps a port, nothing behind them, in small letters.
static bool isOrigin(const std::string &text) {
  size_t scheme = text.find("://");
  if (scheme == text.npos || scheme == 0 || scheme + 3 == text.size())
    return false;
  for (char c : text.substr(scheme + 3))
    if (c <= ' ' || c > '~' || c == '/' || c == '?' || c == '#' || c == ',' ||
        (c >= 'A' && c <= 'Z'))
      return false;
  return true;
}

Expected<CrossOrigin> CrossOrigin::create(std::vector<std::string> origins) {
  CrossOrigin sharing;
  for (std::string &origin : origins) {
    if (origin == "*")
      sharing.all = true;
    else if (isOrigin(origin))
      sharing.origins.push_back(std::move(origin));
    else
      return failure("'", origin,
                     "' is no origin: it is * or like https://example.org:8080,"
                     " in small letters and without a path");
  }
  return sharing;
}

bool CrossOrigin::allowed(const std::string &origin) const {
  return all ||
         std::find(origins.begin(), origins.end(), origin) != origins.end();
}

bool CrossOrigin::isPreflight(const http::Request &request) const {
  return (all || !origins.empty()) && request.method == "OPTIONS" &&
         request.field("Origin") &&
         request.field("Access-Control-Request-Method");
}

http::Fields CrossOrigin::preflightFields(const http::Request &request) const {
  http::Fields answer = fields(request);
  if (answer.size() < 2) // no permission
    return answer;
  answer.emplace_back("Access-Control-Allow-Methods", "GET, POST");
  answer.emplace_back("Access-Control-Allow-Headers",
                      "Authorization, Content-Type, X-Request-Id");
  answer.emplace_back("Access-Control-Max-Age", "3600");
  return answer;
}

http::Fields CrossOrigin::fields(const http::Request &request) const {
  if (!all && origins.empty())
    return {};
  // An answer that is kept must not serve another origin.
  http::Fields answer = {{"Vary", "Origin"}};
  const std::string *origin = request.field("Origin");
  if (!origin || !allowed(*origin))
    return answer;
  answer.emplace_back("Access-Control-Allow-Origin", all ? "*" : *origin);
  answer.emplace_back("Access-Control-Expose-Headers",
                      "Retry-After, X-Request-Id");
  return answer;
}
