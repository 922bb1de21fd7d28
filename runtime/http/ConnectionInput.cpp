//===- ConnectionInput.cpp - what a client's connection reads -------------===//
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

/// Reads of one connection before the others have their turn.
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
    input += fresh; // of a request to come
}

/// Parses what is there; `fresh` comes behind `input`.
void Connection::parseInput(std::string_view fresh) {
  // A body goes from where it was read to where it stays.
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

/// Counts what has come of the body. False: it is more than its tenant may
/// have.
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

/// Those that a body of the request counts in, or that an answer to it will.
const TenantAccounts &Connection::accountsOf(const Request &request) {
  if (!accounts)
    accounts = loop.accountsOf(request);
  return *accounts;
}

/// Of a request whose header has come: whether it needs a reserved place and
/// has none.
bool Connection::refuseWithoutPlace() {
  if (!hasReservedPlace || loop.options.hasReservedPlace(parser->request()))
    return false;
  loop.refused.fetch_add(1, relaxed);
  refuse(503, "too many connections");
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
    inputOver = true; // it may still read
  else
    close();
}

/// `patience`: for its first byte.
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

/// Has what is no request answered, or one that cannot be taken, and ends.
/// `message` is a copy: it may have been the parser's.
void Connection::refuse(int status, std::string message) {
  answerAtOnce([&](const std::shared_ptr<Exchange> &given) {
    loop.options.onRefusal(given, status, message);
  });
}

/// With what is known of the request that is being read; no other can follow
/// it, as nobody knows where that would begin.
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
  // At once: a client that has ended its output is to have this answer.
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
  // The body is the exchange's from here on.
  accounts.reset();
  bodyCounted = 0;
  loop.openExchanges.fetch_add(1, relaxed);
  state = State::Answering;
  answerTaken = closesAfter = false;
  deadline = never;
  auto given = std::make_shared<Exchange>(exchange);
  // If it throws, nobody has the exchange: it is answered with 500.
  (void)guarded([&] {
    handle(std::move(given));
    return Status();
  });
}
