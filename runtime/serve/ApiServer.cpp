//===- ApiServer.cpp - the OpenAI-compatible server -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/ApiServer.h"

#include "runtime/base/Insist.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/OpenFiles.h"
#include "runtime/pipeline/Clock.h"
#include "runtime/serve/Endpoints.h"

#include <algorithm>
#include <ctime>
#include <thread>
#include <unistd.h>

using namespace sluice;
using namespace sluice::serve;

using std::chrono::milliseconds;

/// How often waits check their conditions.
static constexpr milliseconds glance{50};
/// Time for the last answers to reach their clients.
static constexpr milliseconds farewell{1000};

static Time fromSeconds(double seconds) {
  return std::chrono::duration_cast<Time>(
      std::chrono::duration<double>(seconds));
}

struct ApiServer::Impl {
  Impl(const ServeOptions &options, openai::Model model,
       const std::string &version, ServingEngine &engine)
      : drainTime(fromSeconds(options.drainSeconds)), model(std::move(model)),
        metrics(this->model.names().front(), version),
        log(options.logRequests ? STDERR_FILENO : -1), pool(options.maxQueue),
        scopes(options.sharesAmongKeys), poolThreads{.quick = options.threads},
        services{
            .model = this->model,
            .limits = {.bodyBytes = static_cast<size_t>(options.maxBodyBytes)},
            .requestTimeout = fromSeconds(options.requestTimeout),
            .queueTimeout = fromSeconds(options.queueTimeout),
            .engine = engine,
            .pool = pool,
            .metrics = metrics,
            .table = table,
            .scopes = scopes},
        monitor(this->model.names().front(), engine, pool, metrics, log,
                {.usual = fromSeconds(options.stallSeconds)}) {}

  const Time drainTime;
  const openai::Model model;
  ServeMetrics metrics;
  RequestLog log;
  SessionTable table;
  WorkPool pool;
  const PrefixScopes scopes;
  const WorkPool::Threads poolThreads;
  SessionServices services;
  Monitor monitor;
  std::unique_ptr<Endpoints> endpoints;
  std::unique_ptr<http::Server> server; ///< null once it has stopped
  uint16_t port = 0;
  std::string url;
  std::vector<std::string> warnings;
};

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}

ApiServer::~ApiServer() { stop(); }

//===----------------------------------------------------------------------===//
// Setting up
//===----------------------------------------------------------------------===//

static Status readTemplate(const std::string &path, std::string &text) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status().withContext("chat template");
  if (file->bytes().size() > text::maxTemplateBytes)
    return failure("chat template: '", path, "' is larger than ",
                   text::maxTemplateBytes, " bytes");
  text.assign(reinterpret_cast<const char *>(file->bytes().data()),
              file->bytes().size());
  return {};
}

static Expected<Endpoints::Access>
makeAccess(const ServeOptions &options, std::vector<std::string> &warnings) {
  Endpoints::Access access;
  access.page = options.page;
  for (const std::string &key : options.apiKeys)
    SLUICE_RETURN_IF_ERROR(access.keys.add(key));
  std::string warning;
  if (!options.apiKeyFile.empty())
    SLUICE_RETURN_IF_ERROR(access.keys.addFile(options.apiKeyFile, &warning));
  if (!warning.empty())
    warnings.push_back(warning);
  if (!access.keys.required() && isLoopback(options.host))
    access.hosts = LocalHosts(options.host);
  else if (!access.keys.required())
    warnings.push_back("everybody who reaches " + options.host +
                       " may use the server: there is no API key");
  Expected<CrossOrigin> sharing = CrossOrigin::create(options.corsOrigins);
  if (!sharing)
    return sharing.status();
  access.sharing = sharing.take();
  return access;
}

/// Raises the limit of open files, since each connection takes a file
/// descriptor, and warns if there are too few.
static void allowConnections(const http::ServerOptions &http,
                             std::vector<std::string> &warnings) {
  constexpr int64_t links = 64; // and the model's files
  const int64_t others = links + http.reservedConnections;
  int64_t files = raiseOpenFileLimit();
  if (files < http.connections + others)
    warnings.push_back("--max-connections " + std::to_string(http.connections) +
                       ": the process may have " + std::to_string(files) +
                       " files open (ulimit -Hn), so there will be about " +
                       std::to_string(std::max<int64_t>(files - others, 0)) +
                       " connections");
}

static std::string urlOf(const ServeOptions &options, uint16_t port) {
  std::string host = options.host;
  if (host == "0.0.0.0")
    host = "127.0.0.1";
  else if (host == "::")
    host = "::1";
  if (host.find(':') != host.npos)
    host = '[' + host + ']';
  return (options.tlsCertificate.empty() ? "http://" : "https://") + host +
         ':' + std::to_string(port);
}

Expected<std::unique_ptr<ApiServer>>
ApiServer::create(const ServeOptions &options, openai::ModelOptions given,
                  const std::string &version, ServingEngine &engine) {
  Expected<http::ServerOptions> http = options.httpOptions();
  if (!http)
    return http.status();
  if (given.created == 0)
    given.created = std::time(nullptr);
  if (!options.modelNames.empty())
    given.names = options.modelNames;
  given.parsesSpecialInContent = options.parsesSpecialInContent;
  if (!options.chatTemplateFile.empty())
    SLUICE_RETURN_IF_ERROR(
        readTemplate(options.chatTemplateFile, given.chatTemplate));
  Expected<openai::Model> model = openai::Model::create(std::move(given));
  if (!model)
    return model.status();
  std::vector<std::string> warnings = model->warnings();
  allowConnections(*http, warnings);
  Expected<Endpoints::Access> access = makeAccess(options, warnings);
  if (!access)
    return access.status();

  auto impl = std::make_unique<Impl>(options, model.take(), version, engine);
  Impl *parts = impl.get();
  impl->warnings = std::move(warnings);
  impl->endpoints = std::make_unique<Endpoints>(
      access.take(), Endpoints::Parts{.sessions = impl->services,
                                      .monitor = impl->monitor,
                                      .log = impl->log,
                                      .version = version,
                                      .counters = [parts] {
                                        return parts->server->counters();
                                      }});
  http->onRefusal = [parts](const std::shared_ptr<http::Exchange> &exchange,
                            int status, std::string_view message) {
    parts->endpoints->refuse(exchange, status, message);
  };
  http->wantsBody = [parts](const http::Request &request) {
    return parts->endpoints->wantsBody(request);
  };
  http->hasReservedPlace = [parts](const http::Request &request) {
    return parts->endpoints->hasReservedPlace(request);
  };
  http->tenantOf = [parts](const http::Request &request) {
    return parts->endpoints->callerOf(request).tenant;
  };
  auto listening = http::Server::create(
      *http, [parts](const std::shared_ptr<http::Exchange> &exchange) {
        parts->endpoints->handle(exchange);
      });
  if (!listening)
    return listening.status();
  impl->server = listening.take();
  impl->port = impl->server->port();
  impl->url = urlOf(options, impl->port);
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

Status ApiServer::start() {
  SLUICE_RETURN_IF_ERROR(impl->pool.start(impl->poolThreads));
  SLUICE_RETURN_IF_ERROR(impl->monitor.start());
  return impl->server->start();
}

uint16_t ApiServer::port() const { return impl->port; }
std::string ApiServer::url() const { return impl->url; }
const std::vector<std::string> &ApiServer::warnings() const {
  return impl->warnings;
}

//===----------------------------------------------------------------------===//
// Shutting down
//===----------------------------------------------------------------------===//

void ApiServer::drain(const std::function<bool()> &hurry) {
  impl->endpoints->refuseNew();
  const Time until = pipeline::now() + impl->drainTime;
  while (pipeline::now() < until && !hurry() &&
         !impl->table.waitEmpty(std::min(until, pipeline::now() + glance))) {
  }
  stop();
}

void ApiServer::stop() {
  if (!impl->server)
    return;
  impl->endpoints->refuseNew();
  // Repeated, because a session may just have arrived.
  do {
    std::vector<std::shared_ptr<Session>> sessions;
    insist([&] { sessions = impl->table.all(); });
    for (const std::shared_ptr<Session> &session : sessions)
      session->abort(Session::Reason::Stopping);
  } while (!impl->table.waitEmpty(pipeline::now() + glance));
  // First the event streams of watchers end, then answers get time to be sent.
  impl->monitor.stop();
  impl->server->drain();
  for (Time until = pipeline::now() + farewell;
       impl->server->open() > 0 && pipeline::now() < until;)
    std::this_thread::sleep_for(milliseconds(1));
  // Destroys the last connections, also those not accepted yet.
  impl->server.reset();
  impl->pool.stop();
}
