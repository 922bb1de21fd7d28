//===- Connection.cpp - one client's connection ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/Connection.h"

#include "runtime/base/Guarded.h"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <poll.h>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::server;

using std::chrono::milliseconds;

namespace {

constexpr auto relaxed = std::memory_order_relaxed;

/// Reads of one connection before the others have their turn.
constexpr int readsInARow = 16;
/// After the last byte has been sent, a client may have so long to read it: one
/// that is still sending would lose it if its bytes were answered with a reset.
constexpr milliseconds lingerTime{2000};
/// How often to look for a client from which nothing is read.
constexpr milliseconds lookInterval{250};
/// Buffers larger than this are not kept.
constexpr size_t keptCapacity = 4096;

void shrink(std::string &buffer) {
  if (buffer.empty() && buffer.capacity() > keptCapacity)
    buffer.shrink_to_fit();
}

} // namespace

Connection::Connection(Loop &loop, Socket socket, bool refuses)
    : loop(loop), socket(std::move(socket)), timer(*loop.io), refuses(refuses) {
}

void Connection::start() {
  Status ready = guarded([this] { return prepare(); });
  if (!ready.ok())
    return close();
  setDeadline(loop.options.headerTimeout);
  onEvent();
}

Status Connection::prepare() {
  boost::system::error_code ec;
  auto peer = socket.remote_endpoint(ec);
  if (ec)
    return failure("the client has gone");
  peerAddress = peer.address().to_string();
  peerPort = peer.port();
  if (socket.native_non_blocking(true, ec))
    return failure(ec.message());
  int descriptor = socket.native_handle();
  setOptions(descriptor, loop.options.stallTimeout);
  if (loop.tls)
    stream = TlsStream::create(*loop.tls, descriptor, loop.traffic);
  else
    stream = std::make_unique<PlainStream>(descriptor, loop.traffic);
  return stream ? Status() : failure("not enough memory");
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

void Connection::waitFor(Wait kind) {
  bool &isWaiting = waiting[kind == Socket::wait_read ? 0 : 1];
  if (isWaiting)
    return;
  isWaiting = true;
  // An error, too, is something to find out by reading or writing.
  socket.async_wait(kind, [self = shared_from_this(),
                           &isWaiting](const boost::system::error_code &) {
    isWaiting = false;
    self->onEvent();
  });
}

/// An event that the socket will not give: there is something to read already.
void Connection::postEvent() {
  asio::post(*loop.io, [self = shared_from_this()] { self->onEvent(); });
}

void Connection::onEvent() { guardedly(&Connection::advance); }

/// There is something new of the answer.
void Connection::onWake() {
  if (exchange && exchange->broken())
    return reset();
  guardedly(&Connection::writeOutput);
}

/// Without memory for one connection, that one ends.
void Connection::guardedly(void (Connection::*step)()) {
  if (state == State::Closed)
    return;
  Status done = guarded([&] {
    (this->*step)();
    return Status();
  });
  if (!done.ok())
    reset();
}

void Connection::advance() {
  if (state == State::Handshake && !handshake())
    return;
  readInput();
  writeOutput();
}

/// Whether it is over, and there is something to do.
bool Connection::handshake() {
  switch (stream->handshake()) {
  case IoState::Done:
    if (refuses)
      refuse(503, "too many connections");
    else
      startRequest(loop.options.headerTimeout);
    return true;
  case IoState::WantRead:
    waitFor(Socket::wait_read);
    return false;
  case IoState::WantWrite:
    waitFor(Socket::wait_write);
    return false;
  case IoState::PlainHttp:
    stream =
        std::make_unique<PlainStream>(socket.native_handle(), loop.traffic);
    refuse(400, "plain HTTP was sent to a port that speaks TLS; use https");
    return true;
  case IoState::Closed:
  case IoState::Failed:
    break;
  }
  close();
  return false;
}

void Connection::drain() {
  if (state == State::Handshake)
    close();
  else if (state == State::Request && output.empty() && input.empty() &&
           parser->stage() == RequestParser::Stage::Idle)
    endOutput();
}

void Connection::close() {
  if (state == State::Closed)
    return;
  auto self = shared_from_this();
  state = State::Closed;
  dropBody();
  boost::system::error_code ignored;
  stream.reset();
  ignored = socket.close(ignored);
  timer.cancel();
  loop.connections.erase(self);
  loop.connectionCount.fetch_sub(1, relaxed);
  if (!exchange)
    return;
  loop.openExchanges.fetch_sub(1, relaxed);
  // Last, because it calls what can do anything.
  std::shared_ptr<ExchangeState> left = std::move(exchange);
  if (std::function<void()> fn = left->leave())
    (void)guarded([&] {
      fn();
      return Status();
    });
}

/// Closes it so that the client knows that something is missing, and without
/// what the kernel still holds.
void Connection::reset() {
  if (state == State::Closed)
    return;
  boost::system::error_code ignored;
  ignored = socket.set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

//===----------------------------------------------------------------------===//
// Input
//===----------------------------------------------------------------------===//

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
    lookAt = Clock::now() + lookInterval;
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

/// Counts what has come of the body. False: it is too much of all bodies.
bool Connection::countBody() {
  size_t bytes = parser->bodyBytes();
  auto fresh = static_cast<int64_t>(bytes - bodyCounted);
  bodyCounted = bytes;
  return loop.shared->bodyBytes.fetch_add(fresh, relaxed) + fresh <=
         loop.options.allBodyBytes;
}

void Connection::dropBody() {
  loop.shared->bodyBytes.fetch_sub(static_cast<int64_t>(bodyCounted), relaxed);
  bodyCounted = 0;
}

void Connection::stageChanged(RequestParser::Stage stage) {
  if (stage == RequestParser::Stage::Header)
    return setDeadline(loop.options.headerTimeout);
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
  parser.emplace(limits());
  setDeadline(patience);
  if (!input.empty())
    parseInput({});
}

void Connection::dispatch() {
  Request request = parser->take();
  parser.reset();
  request.peerAddress = peerAddress;
  request.peerPort = peerPort;
  auto wake = [io = loop.io, weak = weak_from_this()] {
    asio::post(*io, [weak] {
      if (std::shared_ptr<Connection> connection = weak.lock())
        connection->onWake();
    });
  };
  exchange = std::make_shared<ExchangeState>(std::move(request), loop.shared,
                                             std::move(wake));
  bodyCounted = 0; // the exchange's from here on
  loop.openExchanges.fetch_add(1, relaxed);
  state = State::Answering;
  answerTaken = closesAfter = false;
  deadline = never;
  auto given = std::make_shared<Exchange>(exchange);
  // If it throws, nobody has the exchange: it is answered with 500.
  (void)guarded([&] {
    loop.handler(std::move(given));
    return Status();
  });
}

/// Answers what is no request, or one that cannot be taken, and ends. To be
/// followed by writeOutput().
void Connection::refuse(int status, std::string_view message) {
  ErrorContent content = loop.shared->errorBody(status, message);
  bool isHead = parser && parser->isHead();
  Fields fields;
  fields.emplace_back("Content-Type", std::move(content.contentType));
  AnswerHead head{status, fields, BodyEnd::Length, content.body.size()};
  head.closes = true;
  appendHead(output, head, std::time(nullptr));
  if (!isHead)
    output += content.body;
  parser.reset();
  dropBody();
  input = {};
  state = State::Ending;
  setDeadline(loop.options.stallTimeout);
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

void Connection::writeOutput() {
  while (sendOutput()) {
    if (state == State::Ending)
      return endOutput();
    if (state != State::Answering)
      return;
    if (answerTaken) {
      endAnswer();
      continue;
    }
    auto taken = exchange->take(output, /*mustClose=*/loop.draining);
    answerTaken = taken.complete;
    closesAfter = taken.closes;
    if (output.empty() && !answerTaken)
      return;
  }
}

/// Whether there is nothing left to send, and the connection is there.
bool Connection::sendOutput() {
  bool hasMoved = false;
  while (state != State::Closed && outputSent < output.size()) {
    IoResult result =
        stream->write(output.data() + outputSent, output.size() - outputSent);
    if (result.state == IoState::Done) {
      outputSent += result.bytes;
      hasMoved = true;
      continue;
    }
    if (result.state == IoState::WantWrite)
      waitFor(Socket::wait_write);
    else if (result.state == IoState::WantRead)
      waitFor(Socket::wait_read);
    else
      close();
    if (exchange)
      exchange->setUnsent(output.size() - outputSent);
    if (state != State::Request && (hasMoved || deadline == never))
      setDeadline(loop.options.stallTimeout);
    return false;
  }
  output.clear();
  outputSent = 0;
  shrink(output);
  if (exchange)
    exchange->setUnsent(0);
  if (state == State::Answering)
    deadline = never;
  return state != State::Closed;
}

void Connection::endAnswer() {
  exchange.reset();
  loop.openExchanges.fetch_sub(1, relaxed);
  lookAt = never;
  if (closesAfter || loop.draining) {
    input = {};
    state = State::Ending;
  } else {
    startRequest(loop.options.idleTimeout);
  }
  if (!waiting[0])
    postEvent(); // reads had stopped, or the handler was asked while reading
}

/// Everything has been sent. The connection is closed when the client has done
/// so, or after a while.
void Connection::endOutput() {
  if (inputOver)
    return close();
  state = State::Lingering;
  stream->end();
  setDeadline(lingerTime);
  if (!waiting[0])
    postEvent();
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

void Connection::setDeadline(milliseconds after) {
  deadline = Clock::now() + after;
  armTimer();
}

void Connection::armTimer() {
  Clock::time_point due = std::min(deadline, lookAt);
  if (state == State::Closed || due >= timerAt)
    return; // it goes off earlier, and is set again then
  timerAt = due;
  timer.expires_at(due);
  timer.async_wait(
      [self = shared_from_this()](const boost::system::error_code &ec) {
        if (!ec)
          self->guardedly(&Connection::onTimer);
      });
}

void Connection::onTimer() {
  Clock::time_point now = Clock::now();
  if (now < timerAt)
    return; // it was set anew when it had gone off already
  timerAt = never;
  if (lookAt <= now) {
    lookAt = never;
    if (peerLeft())
      return close();
    if (state == State::Answering && !wantsInput())
      lookAt = now + lookInterval;
  }
  if (deadline <= now)
    return onDeadline();
  armTimer();
}

void Connection::onDeadline() {
  deadline = never;
  if (state == State::Request &&
      parser->stage() != RequestParser::Stage::Idle) {
    bool isBody = parser->stage() == RequestParser::Stage::Body;
    refuse(408, isBody ? "the body has not come in time"
                       : "the header has not come in time");
    return writeOutput();
  }
  if (state == State::Request)
    return endOutput();
  if (state == State::Answering || state == State::Ending)
    return reset();
  close();
}

/// Whether the client has closed or reset the connection, found out without
/// reading what has come before.
bool Connection::peerLeft() {
  pollfd polled = {};
  polled.fd = socket.native_handle();
  polled.events = POLLRDHUP;
  return poll(&polled, 1, 0) > 0 &&
         (polled.revents & (POLLRDHUP | POLLERR | POLLHUP)) != 0;
}
