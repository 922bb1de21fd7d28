//===- Endpoints.h - the server's endpoints -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dispatches each HTTP request to the handler of its endpoint:
//
//   POST /v1/completions  /v1/chat/completions     make a Session
//   POST /v1/embeddings  /tokenize  /detokenize    run on the work pool
//   GET  /v1/models  /v1/models/NAME
//   POST /abort_request   {"request_id": id}, with an id from an answer or from
//                         X-Request-Id; 404 if this key has no such request
//   GET  /health          200, or 503: not ready, broken, stuck (Monitor), or
//                         shutting down
//   GET  /version  /metrics  /status/events
//   GET  / and its files  the web page
//
// Keys. If the server has keys, every endpoint needs one (401), except /health,
// /version, /metrics and the page, which asks the user for a key itself. Their
// answers are no secret, and probes, metrics collectors and browsers have no
// key.
//
// Types of bodies. A body must be application/json, with any parameters. From
// programs, the server also takes a missing type and
// application/x-www-form-urlencoded, which curl sends by default. It does not
// take those two from a web page (a request with Origin), because a browser
// lets a page of another origin send both without asking for permission. Other
// types, and bodies with a Content-Encoding, get 415, as in vLLM. (llama.cpp
// takes any type.)
//
// Hosts. If the server has no keys and listens on a loopback address, a request
// must name this machine (else 403); see LocalHosts.
//
// Errors always have the form {"error": {"message", "type", "param", "code"}}.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_ENDPOINTS_H
#define SLUICE_RUNTIME_SERVE_ENDPOINTS_H

#include "runtime/serve/ApiKeys.h"
#include "runtime/serve/CrossOrigin.h"
#include "runtime/serve/LocalHosts.h"
#include "runtime/serve/Monitor.h"
#include "runtime/serve/Session.h"

#include <atomic>
#include <functional>
#include <string_view>

namespace sluice::serve {

/// Answers requests or hands them to other threads. Only the HTTP server's
/// thread calls handle(); all other methods are thread-safe.
class Endpoints {
public:
  struct Access {
    ApiKeys keys;
    CrossOrigin sharing;
    LocalHosts hosts;
    bool page = true;
  };
  /// What the endpoints use. All of it outlives the endpoints and all requests.
  struct Parts {
    SessionServices &sessions;
    Monitor &monitor;
    RequestLog &log;
    std::string version;
    /// Returns the HTTP server's counters, for the metrics.
    std::function<http::ServerCounters()> counters;
  };

  Endpoints(Access access, Parts parts);

  void handle(const std::shared_ptr<http::Exchange> &exchange);
  /// Returns whether handle() will read the body of a request with this header.
  /// If the key is wrong or the endpoint does not exist, the server reads no
  /// body.
  bool wantsBody(const http::Request &request) const;
  /// Returns whether the request is answered even if all connections are taken:
  /// true for the endpoints that probes and metrics collectors ask.
  bool hasReservedPlace(const http::Request &request) const;
  /// Returns the sender of a request.
  Caller callerOf(const http::Request &request) const;
  /// Answers a request that the HTTP server itself refuses.
  void refuse(const std::shared_ptr<http::Exchange> &exchange, int status,
              std::string_view message);

  /// Makes the server refuse requests for text from now on, and /health say so.
  void refuseNew() { refusing.store(true, std::memory_order_relaxed); }

private:
  using Method = void (Endpoints::*)(Responder);
  struct Route {
    std::string_view method, path;
    Method handler;
    bool isOpen; ///< needs no key
  };
  static const Route routes[];

  bool mayUse(const http::Request &request) const;
  static const Route *findRoute(const http::Request &request,
                                const Route **samePath = nullptr);
  Responder responderFor(std::shared_ptr<http::Exchange> exchange) const;
  void dispatch(Responder responder);
  Status ready() const;

  void health(Responder responder);
  void version(Responder responder);
  void metrics(Responder responder);
  void statusEvents(Responder responder);
  void models(Responder responder);
  void model(Responder responder, std::string_view name);
  void completions(Responder responder);
  void chatCompletions(Responder responder);
  void embeddings(Responder responder);
  void tokenize(Responder responder);
  void detokenize(Responder responder);
  void abortRequest(Responder responder);

  bool takesBody(Responder &responder);
  void startSession(Responder responder, openai::Endpoint endpoint);
  using Answer = openai::ApiExpected<std::string> (*)(
      std::string_view body, const openai::RequestContext &context);
  void onPool(Responder responder, Answer answer);

  const Access access;
  const Parts parts;
  /// Relaxed atomics suffice: nothing else is ordered by this flag, and a
  /// request that arrives at the same time may still be taken.
  std::atomic<bool> refusing{false};
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_ENDPOINTS_H
