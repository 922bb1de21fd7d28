//===- Endpoints.cpp - the server's endpoints -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/Endpoints.h"

#include "runtime/base/Guarded.h"
#include "runtime/http/PeerNetwork.h"
#include "runtime/http/Syntax.h"
#include "runtime/pipeline/Clock.h"
#include "runtime/serve/PageFiles.h"
#include "runtime/text/JsonReader.h"
#include "runtime/text/JsonWriter.h"

#include <algorithm>
#include <random>

using namespace sluice;
using namespace sluice::serve;

using openai::ApiError;

/// Retry-After, in seconds, for a client that waits until another server takes
/// over or this one is ready.
static constexpr int restartSeconds = 5;
static constexpr std::string_view jsonType = "application/json";

constexpr Endpoints::Route Endpoints::routes[] = {
    {"POST", "/v1/completions", &Endpoints::completions, false},
    {"POST", "/v1/chat/completions", &Endpoints::chatCompletions, false},
    {"POST", "/v1/embeddings", &Endpoints::embeddings, false},
    {"GET", "/v1/models", &Endpoints::models, false},
    {"POST", "/tokenize", &Endpoints::tokenize, false},
    {"POST", "/detokenize", &Endpoints::detokenize, false},
    {"POST", "/abort_request", &Endpoints::abortRequest, false},
    {"GET", "/status/events", &Endpoints::statusEvents, false},
    {"GET", "/health", &Endpoints::health, true},
    {"GET", "/version", &Endpoints::version, true},
    {"GET", "/metrics", &Endpoints::metrics, true},
};

Endpoints::Endpoints(Access access, Parts parts)
    : access(std::move(access)), parts(std::move(parts)) {}

void Endpoints::handle(const std::shared_ptr<http::Exchange> &exchange) {
  const http::Request &request = exchange->request();
  Responder responder = responderFor(exchange);
  if (access.sharing.isPreflight(request))
    return responder.reply(204, "", "",
                           access.sharing.preflightFields(request));
  // If it throws, the responder's destructor has answered.
  (void)guarded([&] {
    dispatch(std::move(responder));
    return Status();
  });
}

void Endpoints::refuse(const std::shared_ptr<http::Exchange> &exchange,
                       int status, std::string_view message) {
  responderFor(exchange).fail(
      {.status = status, .message = std::string(message)});
}

Responder
Endpoints::responderFor(std::shared_ptr<http::Exchange> exchange) const {
  http::Fields common = access.sharing.fields(exchange->request());
  return Responder(std::move(exchange), std::move(common), pipeline::now(),
                   parts.sessions.metrics, parts.log);
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

static bool isMethod(std::string_view wanted, const std::string &method) {
  return wanted == method || (wanted == "GET" && method == "HEAD");
}

/// Returns the file of the page at `path`, or null.
static const PageFile *pageFile(std::string_view path) {
  for (const PageFile &file : pageFiles())
    if (file.path == path)
      return &file;
  return nullptr;
}

static void sendFile(Responder responder, const PageFile &file) {
  responder.reply(
      200, file.contentType, std::string(file.content),
      {{"Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; "
        "connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"},
       {"X-Content-Type-Options", "nosniff"},
       {"Referrer-Policy", "no-referrer"},
       {"Cache-Control", "no-cache"}});
}

/// Returns the route of a request, or null. Sets `*samePath` to a route with
/// this path and another method, if there is one.
const Endpoints::Route *Endpoints::findRoute(const http::Request &request,
                                             const Route **samePath) {
  const Route *found = nullptr;
  for (const Route &one : routes) {
    if (one.path != request.path)
      continue;
    if (samePath)
      *samePath = &one;
    if (isMethod(one.method, request.method))
      found = &one;
  }
  return found;
}

/// Returns whether the request has a valid key, or needs none.
bool Endpoints::mayUse(const http::Request &request) const {
  return !access.keys.required() ||
         access.keys.find(request.field("Authorization"));
}

bool Endpoints::hasReservedPlace(const http::Request &request) const {
  const Route *route = findRoute(request);
  return route && route->isOpen;
}

bool Endpoints::wantsBody(const http::Request &request) const {
  const Route *route = findRoute(request);
  return route && route->method == "POST" && access.hosts.admits(request) &&
         mayUse(request);
}

void Endpoints::dispatch(Responder responder) {
  const http::Request &request = responder.request();
  const Route *samePath = nullptr;
  const Route *route = findRoute(request, &samePath);
  if (!access.hosts.admits(request))
    return responder.fail(
        {.status = 403,
         .message = "the Host is not this machine's; who reaches the server "
                    "by another name names it as --host, or gives keys"});
  const bool isGet = isMethod("GET", request.method);
  const PageFile *file = access.page ? pageFile(request.path) : nullptr;
  if (file && isGet)
    return sendFile(std::move(responder), *file);
  if (!file && !(samePath && samePath->isOpen) && !mayUse(request))
    return responder.fail(
        {.status = 401,
         .message = "a valid API key is needed: 'Authorization: Bearer KEY'",
         .code = "invalid_api_key"},
        0, {{"WWW-Authenticate", "Bearer realm=\"sluice\""}});
  if (route)
    return (this->*route->handler)(std::move(responder));

  constexpr std::string_view models = "/v1/models/";
  const bool isModel = request.path.starts_with(models);
  if (isModel && isGet) {
    std::string name = request.path.substr(models.size());
    return model(std::move(responder), name);
  }
  if (!samePath && !isModel && !file)
    return responder.fail(
        {.status = 404,
         .message = "there is nothing at " + responder.shownPath()});
  std::string allowed =
      samePath && samePath->method == "POST" ? "POST" : "GET, HEAD";
  responder.fail({.status = 405,
                  .message = responder.shownPath() + " does not take " +
                             request.method + ", but " + allowed},
                 0, {{"Allow", allowed}});
}

/// Fails if there can be no new requests for text, and says why.
Status Endpoints::ready() const {
  if (refusing.load(std::memory_order_relaxed))
    return failure("the server is shutting down");
  return parts.sessions.engine.healthy();
}

//===----------------------------------------------------------------------===//
// Handlers that answer at once
//===----------------------------------------------------------------------===//

void Endpoints::health(Responder responder) {
  Status s = ready();
  if (s.ok())
    s = parts.monitor.working();
  if (!s.ok())
    return responder.fail({.status = 503, .message = s.message()},
                          restartSeconds);
  responder.json(R"({"status":"ok"})");
}

void Endpoints::version(Responder responder) {
  text::JsonWriter json(text::JsonWriter::Style::Compact);
  json.beginObject();
  json.key("version").string(parts.version);
  json.endObject();
  responder.json(json.take());
}

void Endpoints::metrics(Responder responder) {
  SessionServices &sessions = parts.sessions;
  responder.reply(200, MetricRegistry::contentType,
                  sessions.metrics.text(sessions.engine.status(),
                                        parts.counters(),
                                        sessions.pool.waiting()));
}

void Endpoints::statusEvents(Responder responder) {
  const TenantId tenant = callerOf(responder.request()).tenant;
  if (responder.request().method != "HEAD")
    return parts.monitor.watch(std::move(responder), tenant);
  responder.startEvents();
  responder.endEvents();
}

void Endpoints::models(Responder responder) {
  responder.json(openai::modelListJson(parts.sessions.model));
}

void Endpoints::model(Responder responder, std::string_view name) {
  auto answer = openai::modelJson(parts.sessions.model, name);
  if (!answer)
    return responder.fail(answer.error());
  responder.json(answer.take());
}

/// Returns the id of {"request_id": id}; null for any other body.
static std::optional<std::string> requestIdOf(const std::string &body) {
  constexpr size_t longest = 4096;
  if (body.size() > longest)
    return std::nullopt;
  auto read = text::readJson(body, {.depth = 8,
                                    .values = longest,
                                    .objectMembers = longest,
                                    .treeBytes = longest * longest});
  const auto *tree = std::get_if<text::JsonTree>(&read);
  if (!tree || !tree->root().is_object())
    return std::nullopt;
  auto id = tree->root().find("request_id");
  if (id == tree->root().end() || !id->is_string())
    return std::nullopt;
  return id->get<std::string>();
}

void Endpoints::abortRequest(Responder responder) {
  if (!takesBody(responder))
    return;
  std::optional<std::string> id = requestIdOf(responder.request().body);
  if (!id)
    return responder.fail(openai::invalidField(
        "request_id", "the body must be {\"request_id\": \"...\"}"));
  const Caller caller = callerOf(responder.request());
  std::shared_ptr<Session> session = parts.sessions.table.find(*id);
  if (!session)
    session = parts.sessions.table.find(caller.ownId(*id));
  // A request of another tenant is treated as one that does not exist.
  if (!session || !caller.mayTouch(session->caller()))
    return responder.fail({.status = 404,
                           .message = "no request of that id is under way",
                           .param = "request_id"});
  session->abort(Session::Reason::Aborted);
  responder.json("{}");
}

//===----------------------------------------------------------------------===//
// Handlers that take longer
//===----------------------------------------------------------------------===//

/// Returns whether the body has a type that is read; answers 415 if not.
bool Endpoints::takesBody(Responder &responder) {
  const http::Request &request = responder.request();
  const std::string *field = request.field("Content-Type");
  // For JSON, a browser asks whether a page of another origin may send it;
  // other types, and a body without a type, it sends without asking.
  const bool isPage = request.field("Origin");
  std::string_view type = field ? std::string_view(*field) : "";
  type = type.substr(0, type.find(';'));
  type = type.substr(0, type.find_last_not_of(" \t") + 1);
  auto is = [type](std::string_view wanted) {
    return http::server::equalsIgnoringCase(type, wanted);
  };
  const std::string *coding = request.field("Content-Encoding");
  if (coding && !coding->empty() &&
      !http::server::equalsIgnoringCase(*coding, "identity")) {
    responder.fail({.status = 415,
                    .message = "the body must not be compressed: there must be "
                               "no Content-Encoding",
                    .param = "Content-Encoding"},
                   0, {{"Accept-Encoding", "identity"}});
    return false;
  }
  if (is(jsonType) ||
      (!isPage && (type.empty() || is("application/x-www-form-urlencoded"))))
    return true;
  responder.fail({.status = 415,
                  .message = "the Content-Type must be application/json",
                  .param = "Content-Type"});
  return false;
}

Caller Endpoints::callerOf(const http::Request &request) const {
  if (auto key = access.keys.find(request.field("Authorization")))
    return {.tenant = static_cast<TenantId>(*key) + 1,
            .hasKey = true,
            .terms = access.keys.termsOf(*key)};
  // Numbers of keys are small; those of networks have the highest bit set.
  return {.tenant = http::networkOf(request.peerAddress)};
}

/// For seeds, which should be hard to guess, and ids, which must be.
static uint64_t randomNumber() {
  std::random_device source;
  return (uint64_t{source()} << 32) | source();
}

/// Returns whether `id` may be a client's request id: short visible ASCII.
static bool isClientId(const std::string &id) {
  constexpr size_t longest = 256;
  return !id.empty() && id.size() <= longest &&
         std::all_of(id.begin(), id.end(),
                     [](char c) { return c > ' ' && c <= '~'; });
}

void Endpoints::startSession(Responder responder, openai::Endpoint endpoint) {
  if (Status s = ready(); !s.ok())
    return responder.fail({.status = 503, .message = s.message()},
                          restartSeconds);
  if (!takesBody(responder))
    return;
  std::string clientId;
  if (const std::string *field = responder.request().field("X-Request-Id")) {
    if (!isClientId(*field))
      return responder.fail(openai::invalidField(
          "X-Request-Id", "X-Request-Id must be 1 to 256 visible characters"));
    clientId = *field;
    responder.addField("X-Request-Id", clientId);
  }
  const Caller caller = callerOf(responder.request());
  std::make_shared<Session>(parts.sessions, std::move(responder), endpoint,
                            caller, randomNumber(), clientId)
      ->start();
}

void Endpoints::completions(Responder responder) {
  startSession(std::move(responder), openai::Endpoint::Completions);
}

void Endpoints::chatCompletions(Responder responder) {
  startSession(std::move(responder), openai::Endpoint::Chat);
}

namespace {

/// A request whose answer is complete once it has been read.
class ReadingJob final : public WorkItem {
public:
  using Answer = openai::ApiExpected<std::string> (*)(
      std::string_view, const openai::RequestContext &);

  ReadingJob(SessionServices &services, Responder responder, Answer answer,
             uint64_t grammarScope)
      : services(services), responder(std::move(responder)), answer(answer),
        grammarScope(grammarScope) {}

  bool begin(Pace pace) override {
    bool isDone = true;
    Status done = guarded([&] {
      isDone = read(pace);
      return Status();
    });
    if (!done.ok())
      responder.fail({.status = 500, .message = done.message()});
    return isDone;
  }
  void expire() override {
    if (responder.exchange().gone())
      return responder.clientLeft();
    services.failExpired(responder);
  }
  void refuse() override { services.failRefused(responder); }
  void proceed() override {}

private:
  /// Returns false if reading takes too long for this pace.
  bool read(Pace pace) {
    http::Exchange &exchange = responder.exchange();
    if (exchange.gone()) {
      responder.clientLeft();
      return true;
    }
    const std::string &body = responder.request().body;
    if (pace == Pace::Quick && SessionServices::isLong(body.size()))
      return false;
    WorkMeter meter =
        services.meterFor(pace, [&exchange] { return exchange.gone(); });
    auto json =
        answer(body, {services.model, randomNumber(), std::time(nullptr),
                      services.limits, &meter, grammarScope});
    if (meter.end() == WorkMeter::End::Time && pace == Pace::Quick)
      return false;
    (void)exchange.takeBody();
    if (json)
      responder.json(json.take());
    else
      responder.fail(json.error());
    return true;
  }

  SessionServices &services;
  Responder responder;
  Answer answer;
  const uint64_t grammarScope;
};

} // namespace

void Endpoints::onPool(Responder responder, Answer answer) {
  if (!takesBody(responder))
    return;
  const Time until = parts.sessions.beginUntil(responder.arrived());
  const Caller caller = callerOf(responder.request());
  auto job =
      std::make_shared<ReadingJob>(parts.sessions, std::move(responder), answer,
                                   parts.sessions.scopes.of(caller, {}));
  if (!parts.sessions.pool.begin(job, caller.tenant, until))
    job->refuse();
}

void Endpoints::tokenize(Responder responder) {
  onPool(std::move(responder),
         [](std::string_view body, const openai::RequestContext &context)
             -> openai::ApiExpected<std::string> {
           auto request = openai::parseTokenizeRequest(body, context);
           if (!request)
             return request.error();
           return openai::tokenizeJson(*request, context.model);
         });
}

void Endpoints::detokenize(Responder responder) {
  onPool(std::move(responder),
         [](std::string_view body, const openai::RequestContext &context)
             -> openai::ApiExpected<std::string> {
           auto text = openai::parseDetokenizeRequest(body, context);
           if (!text)
             return text.error();
           return openai::detokenizeJson(*text);
         });
}

/// Always an error, because the parser refuses what the model cannot do.
void Endpoints::embeddings(Responder responder) {
  onPool(std::move(responder),
         [](std::string_view body, const openai::RequestContext &context)
             -> openai::ApiExpected<std::string> {
           auto request = openai::parseEmbeddingRequest(body, context);
           if (!request)
             return request.error();
           return ApiError{.status = 501,
                           .message = "this program computes no embeddings"};
         });
}
