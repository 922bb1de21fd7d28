//===- Client.cpp - an asynchronous HTTP/1.1 client -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/client/Client.h"

#include "runtime/base/Guarded.h"
#include "runtime/http/client/ClientConnection.h"
#include "runtime/http/client/RequestText.h"
#include "runtime/http/client/ResponseReader.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <optional>
#include <strings.h>
#include <unordered_map>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::client;

namespace asio = boost::asio;
using std::chrono::steady_clock;

namespace {

class Exchange;

/// The state that all requests of a client share.
struct Shared {
  Url server;
  ClientOptions options;
  std::optional<asio::ssl::context> tls;
  Addresses endpoints;
  asio::io_context context{1};
  std::unordered_map<CallId, std::shared_ptr<Exchange>> exchanges;
  /// Reusable connections; the most recently used one is the last.
  std::vector<std::shared_ptr<ClientConnection>> idle;
  uint64_t connections = 0;

  std::shared_ptr<ClientConnection> takeIdle();
  std::shared_ptr<ClientConnection> makeNew();
};

/// Returns a reusable connection, or null; drops those that the server has
/// closed.
std::shared_ptr<ClientConnection> Shared::takeIdle() {
  while (!idle.empty()) {
    std::shared_ptr<ClientConnection> connection = std::move(idle.back());
    idle.pop_back();
    if (connection->isQuiet())
      return connection;
    connection->close();
  }
  return nullptr;
}

std::shared_ptr<ClientConnection> Shared::makeNew() {
  ++connections;
  return makeConnection(context, tls ? &*tls : nullptr, server.host);
}

/// A request and its answer. Lives until its last pending operation has
/// completed.
class Exchange : public ResponseSink,
                 public std::enable_shared_from_this<Exchange> {
public:
  Exchange(Shared &shared, CallId id, std::string text,
           const ClientRequest &request,
           std::unique_ptr<ResponseHandler> handler)
      : shared(shared), id(id), text(std::move(text)),
        maxBodyBytes(request.maxBodyBytes), handler(std::move(handler)),
        timer(shared.context) {
    if (request.timeout.count() > 0)
      limit = steady_clock::now() + request.timeout;
  }

  void begin() {
    connection = shared.takeIdle();
    reused = connection != nullptr;
    reused ? send() : connect();
  }

  /// Ends the exchange without calling its handler again.
  void drop() {
    finished = true;
    timer.cancel();
    connection->close();
  }

private:
  void connect();
  void send();
  void readMore();
  void onRead(error_code error, size_t count);
  void onReadError(error_code error);
  void waitUntil(TimePoint until, const char *what);
  void settle();
  void complete();
  void fail(Failure failure);

  void onHead(const ResponseHead &head) override {
    if (!finished)
      handler->onHead(head, readAt);
  }
  void onBody(std::string_view piece) override {
    if (!finished)
      handler->onBody(piece, readAt);
  }

  Shared &shared;
  CallId id;
  std::string text;
  uint64_t maxBodyBytes;
  std::unique_ptr<ResponseHandler> handler;
  std::optional<ResponseReader> reader;
  std::shared_ptr<ClientConnection> connection;
  asio::steady_timer timer;
  TimePoint timerAt{};
  TimePoint limit = TimePoint::max(); ///< deadline of the whole request
  TimePoint readAt{};
  bool reused = false;
  bool writing = false;
  bool finished = false;
  std::array<char, 8192> buffer;
};

void Exchange::connect() {
  connection = shared.makeNew();
  TimePoint until = steady_clock::now() + shared.options.connectTimeout;
  waitUntil(std::min(until, limit), "cannot connect");
  connection->connect(shared.endpoints, [self = shared_from_this(),
                                         this](error_code error) {
    if (finished)
      return;
    readAt = steady_clock::now();
    if (error)
      return fail({FailureKind::Connect, "cannot connect: " + error.message()});
    send();
  });
}

void Exchange::send() {
  reader.emplace(shared.options.maxHeaderBytes, maxBodyBytes);
  waitUntil(limit, "no complete answer");
  writing = true;
  // A failed write is not reported: reading fails as well, perhaps with an
  // answer that says why the server stopped reading.
  connection->write(text, [self = shared_from_this(), this,
                           used = connection.get()](error_code error) {
    if (used == connection.get() && !error)
      writing = false;
  });
  readMore();
}

void Exchange::readMore() {
  connection->read(buffer, [self = shared_from_this(), this](error_code error,
                                                             size_t count) {
    if (!finished)
      onRead(error, count);
  });
}

void Exchange::onRead(error_code error, size_t count) {
  readAt = steady_clock::now();
  if (error)
    return onReadError(error);
  std::optional<Failure> failed = reader->feed({buffer.data(), count}, *this);
  if (finished) // its handler has aborted it
    return;
  if (failed)
    return fail(*std::move(failed));
  reader->isComplete() ? complete() : readMore();
}

void Exchange::onReadError(error_code error) {
  if (reused && !reader->hasBegun()) {
    // The server closed the connection while the request was on its way.
    connection->close();
    reused = false;
    return connect();
  }
  if (error != asio::error::eof)
    return fail({FailureKind::Closed,
                 error == asio::ssl::error::stream_truncated
                     ? "closed before the answer's end"
                     : "the connection failed: " + error.message()});
  if (std::optional<Failure> failed = reader->feedEnd())
    return fail(*std::move(failed));
  complete();
}

/// Makes the request fail at `until`.
void Exchange::waitUntil(TimePoint until, const char *what) {
  timerAt = until;
  timer.cancel();
  if (until == TimePoint::max())
    return;
  timer.expires_at(until);
  timer.async_wait([self = shared_from_this(), this, what](error_code error) {
    // The timer may have been set anew after this call was queued.
    if (error || finished || steady_clock::now() < timerAt)
      return;
    readAt = steady_clock::now();
    fail({FailureKind::Timeout, std::string(what) + " in time"});
  });
}

/// Ends the exchange. The caller must hold a reference.
void Exchange::settle() {
  finished = true;
  timer.cancel();
  shared.exchanges.erase(id);
}

void Exchange::complete() {
  if (!writing && reader->canFollow())
    shared.idle.push_back(connection);
  else
    connection->close();
  settle();
  handler->onEnd(readAt);
  handler.reset();
}

void Exchange::fail(Failure failure) {
  connection->close();
  settle();
  failure.message = shared.server.authority() + ": " + failure.message;
  handler->onFailure(failure, readAt);
  handler.reset();
}

Status setUpTls(Shared &shared) {
  asio::ssl::context &tls = shared.tls.emplace(asio::ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION);
  const std::string &file = shared.options.caFile;
  SSL_CTX_set_verify(tls.native_handle(), SSL_VERIFY_PEER, nullptr);
  error_code error;
  error = file.empty() ? tls.set_default_verify_paths(error)
                       : tls.load_verify_file(file, error);
  if (error)
    return failure(file.empty() ? "the system's certificates" : file,
                   ": cannot read certificates: ", error.message());
  return {};
}

Status resolve(Shared &shared) {
  asio::ip::tcp::resolver resolver(shared.context);
  error_code error;
  auto found =
      resolver.resolve(shared.server.host, std::to_string(shared.server.port),
                       asio::ip::resolver_base::numeric_service, error);
  if (error)
    return failure("cannot find the host '", shared.server.host,
                   "': ", error.message());
  for (const auto &entry : found)
    shared.endpoints.push_back(entry.endpoint());
  return {};
}

} // namespace

std::string_view ResponseHead::field(std::string_view name) const {
  for (const auto &[key, value] : fields)
    if (key.size() == name.size() &&
        strncasecmp(key.data(), name.data(), name.size()) == 0)
      return value;
  return "";
}

struct Client::Impl {
  Shared shared;
  asio::executor_work_guard<asio::io_context::executor_type> work{
      shared.context.get_executor()};
  asio::steady_timer wake{shared.context};
  std::optional<TimePoint> wakeAt; ///< the expiry of `wake`
  bool wasCancelled = false; ///< the last handler was that of a cancelled wait
  CallId nextId = 1;
};

Client::Client(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Client::Client(Client &&) noexcept = default;
Client::~Client() = default;

Expected<Client> Client::create(const Url &server, ClientOptions options) {
  auto impl = std::make_unique<Impl>();
  Shared &shared = impl->shared;
  shared.server = server;
  shared.options = std::move(options);
  Status made = guarded([&] {
    if (server.tls)
      SLUICE_RETURN_IF_ERROR(setUpTls(shared));
    return resolve(shared);
  });
  if (!made.ok())
    return made;
  return Client(std::move(impl));
}

Expected<CallId> Client::start(const ClientRequest &request,
                               std::unique_ptr<ResponseHandler> handler) {
  Shared &shared = impl->shared;
  Expected<std::string> text = requestText(request, shared.server.authority());
  if (!text)
    return text.status();
  CallId id = impl->nextId++;
  auto exchange = std::make_shared<Exchange>(shared, id, text.take(), request,
                                             std::move(handler));
  shared.exchanges.emplace(id, exchange);
  exchange->begin();
  return id;
}

void Client::abort(CallId id) {
  auto found = impl->shared.exchanges.find(id);
  if (found == impl->shared.exchanges.end())
    return;
  found->second->drop();
  impl->shared.exchanges.erase(found);
}

void Client::run(TimePoint until) {
  asio::io_context &context = impl->shared.context;
  // The reactor's own time-outs are whole milliseconds; timers are exact.
  if (until != impl->wakeAt) {
    impl->wakeAt = until;
    impl->wake.expires_at(until);
    impl->wake.async_wait([owner = impl.get()](error_code error) {
      owner->wasCancelled = bool(error);
      if (!error)
        owner->wakeAt.reset();
    });
  }
  // A cancelled wait, just above, does not count as an event.
  do {
    impl->wasCancelled = false;
    context.run_one();
  } while (impl->wasCancelled);
  while (steady_clock::now() < until && context.poll_one() > 0)
    ;
}

size_t Client::inFlight() const { return impl->shared.exchanges.size(); }

uint64_t Client::connections() const { return impl->shared.connections; }
