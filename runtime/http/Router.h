//===- Router.h - requests to handlers by path and method -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_ROUTER_H
#define SLUICE_RUNTIME_HTTP_ROUTER_H

#include "runtime/http/Server.h"

#include <map>

namespace sluice::http {

/// A Handler made of handlers for exact paths. A path that has none is answered
/// with 404, a method that a path does not have with 405 and Allow; HEAD goes
/// to GET's handler. Fill it, then give it to Server::create().
class Router {
public:
  /// `path` as in Request::path. A later handler for the same replaces it.
  void add(const std::string &method, const std::string &path, Handler handler);

  void operator()(std::shared_ptr<Exchange> exchange) const;

private:
  using Methods = std::map<std::string, Handler, std::less<>>;
  std::map<std::string, Methods, std::less<>> paths;
};

} // namespace sluice::http

#endif // SLUICE_RUNTIME_HTTP_ROUTER_H
