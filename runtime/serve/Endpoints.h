//===- Endpoints.h - what the server answers where ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   POST /v1/completions  /v1/chat/completions     sessions
//   POST /v1/embeddings  /tokenize  /detokenize    read on the pool's threads
//   GET  /v1/models  /v1/models/NAME
//   POST /abort_request   {"request_id": id}, one that an answer has or that
//                         X-Request-Id gave; 404 where none of this key's is
//                         under way
//   GET  /health          200, or 503: not ready, broken, stuck (Monitor), or
//                         shutting down
//   GET  /version  /metrics  /status/events
//   GET  / and its files  the web page
//
// Keys. Where there are keys, all of it needs one (401), but /health, /version,
// /metrics and the page, which asks for a key itself: what they tell is no
// secret, and probes, collectors and browsers have no key.
//
// Types of bodies. application/json with any parameters, as everybody sends it.
// From programs also no type at all, and application/x-www-form-urlencoded, as
// curl says where its user says nothing. Not so from a web page (which sends
// Origin): a page of another origin could send both without being asked whether
// it may. Anything else is answered with 415, as in vLLM. (llama.cpp takes any
// type.) So is a body with a Content-Encoding.
//
// Hosts. Without keys on a loopback address, a request must name this machine
// (403); see LocalHosts.
//
// Errors are {"error": {"message", "type", "param", "code"}} everywhere.
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

/// Answers requests, on the server's thread, or hands them on. handle() is
/// called by that thread alone; the rest is thread-safe.
class Endpoints {
public:
  struct Access {
    ApiKeys keys;
    CrossOrigin sharing;
    LocalHosts hosts;
    bool page = true;
  };
  /// All of them outlive it, and all requests.
  struct Parts {
    SessionServices &sessions;
    Monitor &monitor;
    RequestLog &log;
    std::string version;
    /// For the metrics.
    std::function<http::ServerCounters()> counters;
  };

  Endpoints(Access access, Parts parts);

  void handle(const std::shared_ptr<http::Exchange> &exchange);
  /// Whether handle() will look at the body of a request with this header: who
  /// has no key, or asks for what there is not, does not make the server read.
  bool wantsBody(const http::Request &request) const;
  /// Whether it is answered however many connections there are: what probes and
  /// collectors ask.
  bool hasReservedPlace(const http::Request &request) const;
  /// Who a request is from.
  Caller callerOf(const http::Request &request) const;
  /// Answers what the HTTP server refuses by itself.
  void refuse(const std::shared_ptr<http::Exchange> &exchange, int status,
              std::string_view message);

  /// From now on there are no new requests for text, and /health says so.
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
  /// Nothing else is ordered by it: a request that comes at the same time may
  /// still be taken.
  std::atomic<bool> refusing{false};
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_ENDPOINTS_H
