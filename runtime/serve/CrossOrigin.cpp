//===- CrossOrigin.cpp - permission for web pages of other origins --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/CrossOrigin.h"

#include "runtime/http/Syntax.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::serve;

/// Returns whether `text` is a scheme, host and optional port in lower case,
/// with nothing behind them.
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

std::string CrossOrigin::permission(const http::Request &request) const {
  if (all) // also where the fields could not be read
    return "*";
  const std::string *origin = request.field("Origin");
  bool isListed = origin && std::find(origins.begin(), origins.end(),
                                      *origin) != origins.end();
  return isListed ? *origin : "";
}

bool CrossOrigin::isPreflight(const http::Request &request) const {
  return (all || !origins.empty()) && request.method == "OPTIONS" &&
         request.field("Origin") &&
         request.field("Access-Control-Request-Method");
}

/// Returns the names of fields that a page may send: those that it asks for, if
/// they are a list of names that is not too long; otherwise the usual ones.
static std::string allowedFields(const http::Request &request) {
  constexpr size_t longest = 2048;
  const std::string usual = "Authorization, Content-Type, X-Request-Id";
  const std::string *asked = request.field("Access-Control-Request-Headers");
  if (!asked || asked->size() > longest)
    return usual;
  std::string names;
  for (std::string_view name : http::server::splitList(*asked)) {
    if (!http::server::isToken(name))
      return usual;
    names += names.empty() ? "" : ", ";
    names += name;
  }
  return names.empty() ? usual : names;
}

http::Fields CrossOrigin::preflightFields(const http::Request &request) const {
  if (permission(request).empty())
    return {};
  return {{"Access-Control-Allow-Methods", "GET, POST"},
          {"Access-Control-Allow-Headers", allowedFields(request)},
          {"Access-Control-Max-Age", "3600"}};
}

http::Fields CrossOrigin::fields(const http::Request &request) const {
  if (!all && origins.empty())
    return {};
  // With Vary, a cached answer does not serve another origin.
  http::Fields answer = {{"Vary", "Origin"}};
  std::string origin = permission(request);
  if (origin.empty())
    return answer;
  answer.emplace_back("Access-Control-Allow-Origin", std::move(origin));
  answer.emplace_back("Access-Control-Expose-Headers",
                      "Retry-After, X-Request-Id");
  return answer;
}
