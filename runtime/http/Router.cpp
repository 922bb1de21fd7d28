//===- Router.cpp - requests to handlers by path and method ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/Router.h"

using namespace sluice;
using namespace sluice::http;

/// The target's path as it was sent, without its query, which may hold what is
/// nobody's business; shortened.
static std::string shownPath(const Request &request) {
  constexpr size_t longest = 200;
  std::string path = request.target.substr(0, request.target.find('?'));
  if (path.size() > longest)
    path.replace(longest, path.size(), "...");
  return path;
}

void Router::add(const std::string &method, const std::string &path,
                 Handler handler) {
  paths[path][method] = std::move(handler);
}

void Router::operator()(std::shared_ptr<Exchange> exchange) const {
  const Request &request = exchange->request();
  auto methods = paths.find(request.path);
  if (methods == paths.end())
    return exchange->fail(404, "there is nothing at " + shownPath(request));
  auto handler = methods->second.find(request.method);
  if (handler == methods->second.end() && request.method == "HEAD")
    handler = methods->second.find("GET");
  if (handler != methods->second.end())
    return handler->second(std::move(exchange));

  std::string allowed;
  for (const auto &[method, unused] : methods->second) {
    allowed += (allowed.empty() ? "" : ", ") + method;
    if (method == "GET" && !methods->second.contains("HEAD"))
      allowed += ", HEAD";
  }
  exchange->fail(405,
                 shownPath(request) + " does not take " + request.method +
                     ", but " + allowed,
                 {{"Allow", allowed}});
}
