//===- ConnectionInput.cpp - the input of a client's connection -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/Connection.h"

#include "runtime/base/Guarded.h"

#include <boost/asio/post.hpp>

#include <algorithm>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::server;

using std::chrono::milliseconds;

namespace {

/// Reads of one connection before others get their turn.
constexpr int readsInARow = 16;

} // namespace

bool Connection::wantsInput() const {
  switch (state) {
  case State::Request:
    return true;
  case State::Answering:
    return input.size() < limits().headerBytes;
  case State::Ending:
  case State::Lingering:
    return !inputOver;
  case State::Handshake:
  case State::Closed:
    break;
  }
  return false;
}

void Connection::readInput() {
  for (int round = 0; wantsInput(); ++round) {
    if (round == readsInARow)
      return postEvent();
    size_t room = loop.scratch.size();
    if (state == State::Answering)
      room = std::min(room, limits().headerBytes - input.size());
    IoResult result = stream->read(loop.scratch.data(), room);
    switch (result.state) {
    case IoState::Done:
      takeInput({loop.scratch.data(), result.bytes});
      break;
    case IoState::WantRead:
      return waitFor(Socket::wait_read);
    case IoState::WantWrite:
      return waitFor(Socket::wait_write);
    default:
      return inputEnded(result.state);
    }
  }
  if (state == State::Answering && lookAt == never) {
    lookAt = LoopClock::now() + lookInterval;
    armTimer();
  }
}

void Connection::takeInput(std::string_view fresh) {
  if (state == State::Request)
    parseInput(fresh);
  else if (state == State::Answering)
    input += fresh; // of a later request
}

/// Parses the input, with `fresh` after `input`.
void Connection::parseInput(std::string_view fresh) {
  // The body is parsed from the buffer that it was read into, without a copy.
  std::string_view bytes = fresh;
  if (!input.empty())
    bytes = input += fresh;
  RequestParser::Stage before = parser->stage();
  size_t consumed = 0;
  auto progress = parser->feed(bytes, consumed);
  if (input.empty())
    input = fresh.substr(consumed);
  else
    input.erase(0, consumed);
  shrink(input);
  if (!countBody())
    return refuse(503, "too many bytes of bodies at once");
  switch (progress) {
  case RequestParser::Progress::Refused:
    return refuse(parser->refusal().status, parser->refusal().message);
  case RequestParser::Progress::Complete:
    return dispatch();
  case RequestParser::Progress::NeedMore:
    if (parser->stage() != before)
      stageChanged(parser->stage());
  }
}

/// Counts the bytes of the body. Returns false if its tenant exceeds its
/// budget.
bool Connection::countBody() {
  size_t bytes = parser->bodyBytes();
  if (bytes == bodyCounted)
    return true;
  const TenantAccounts &of = accountsOf(parser->request());
  auto fresh = static_cast<int64_t>(bytes - bodyCounted);
  bodyCounted = bytes;
  return of.bodies->add(fresh);
}

void Connection::dropBody() {
  if (accounts)
    accounts->bodies->add(-static_cast<int64_t>(bodyCounted));
  bodyCounted = 0;
}

/// Returns the accounts of the request's tenant, for its body and its answer.
const TenantAccounts &Connection::accountsOf(const Request &request) {
  if (!accounts)
    accounts = loop.accountsOf(request);
  return *accounts;
}

/// Refuses a request, once its header has come, if it is on a reserved place
/// and must not have one, or if its tenant has too many requests. Returns
/// whether it did.
bool Connection::refuseWithoutPlace() {
  if (loop.options.hasReservedPlace(parser->request()))
    return false;
  const bool hasPlace = !hasReservedPlace;
  if (hasPlace && accountsOf(parser->request()).requests->hasRoom(1))
    return false;
  loop.refused.fetch_add(1, relaxed);
  refuse(503, hasPlace ? "too many requests at once" : "too many connections");
  return true;
}

void Connection::stageChanged(RequestParser::Stage stage) {
  changedAt = LoopClock::now();
  if (stage == RequestParser::Stage::Header)
    return setDeadline(loop.options.headerTimeout);
  if (refuseWithoutPlace())
    return;
  if (!loop.options.wantsBody(parser->request()))
    return answerAtOnce(loop.handler);
  setDeadline(loop.options.bodyTimeout);
  if (parser->expectsContinue() && parser->bodyBytes() == 0 && input.empty())
    output += "HTTP/1.1 100 Continue\r\n\r\n";
}

void Connection::inputEnded(IoState how) {
  if (state == State::Ending && how == IoState::Closed)
    inputOver = true; // the client may still read
  else
    close();
}

/// `patience` is the time for the first byte.
void Connection::startRequest(milliseconds patience) {
  state = State::Request;
  changedAt = LoopClock::now();
  parser.emplace(limits(), peer.address, peer.port);
  setDeadline(patience);
  if (!input.empty())
    parseInput({});
}

void Connection::dispatch() {
  if (refuseWithoutPlace())
    return;
  Request request = parser->take();
  request.keepAlive = request.keepAlive && !hasReservedPlace;
  parser.reset();
  answer(std::move(request), loop.handler);
}

/// Answers a request that is malformed or cannot be taken, and ends the
/// connection. `message` is a copy, because it may belong to the parser.
void Connection::refuse(int status, std::string message) {
  answerAtOnce([&](const std::shared_ptr<Exchange> &given) {
    loop.options.onRefusal(given, status, message);
  });
}

/// Has a request answered with what is known of it. No other request can
/// follow, because it is unknown where that would begin.
void Connection::answerAtOnce(
    const std::function<void(std::shared_ptr<Exchange>)> &handle) {
  Request request;
  if (parser)
    request = parser->take();
  request.peerAddress = peer.address;
  request.peerPort = peer.port;
  parser.reset();
  request.keepAlive = false;
  request.body.clear();
  shrink(request.body);
  dropBody();
  input = {};
  answer(std::move(request), handle);
  // At once, so that a client that has closed its sending side gets this
  // answer.
  writeOutput();
}

void Connection::answer(
    Request request,
    const std::function<void(std::shared_ptr<Exchange>)> &handle) {
  const TenantAccounts &counted = accountsOf(request);
  auto wake = [io = loop.io, shared = loop.shared, weak = weak_from_this()] {
    try {
      asio::post(*io, [weak] {
        if (std::shared_ptr<Connection> connection = weak.lock())
          connection->onWake();
      });
    } catch (const std::bad_alloc &) {
      shared->hasMissed.store(true);
    }
  };
  exchange = std::make_shared<ExchangeState>(
      std::move(request), std::move(counted), loop.shared, std::move(wake));
  // From here on, the body belongs to the exchange.
  accounts.reset();
  bodyCounted = 0;
  loop.openExchanges.fetch_add(1, relaxed);
  state = State::Answering;
  answerTaken = closesAfter = false;
  deadline = never;
  auto given = std::make_shared<Exchange>(exchange);
  // If it throws, the exchange has no owner left, and answers with 500.
  (void)guarded([&] {
    handle(std::move(given));
    return Status();
  });
}
