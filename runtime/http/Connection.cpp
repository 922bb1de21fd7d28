//===- Connection.cpp - one client's connection ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/Connection.h"

#include "runtime/base/Guarded.h"
#include "runtime/http/PeerNetwork.h"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <poll.h>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::server;

using std::chrono::milliseconds;

namespace {

/// Time that a client gets to read the last bytes. If the server closed at
/// once, a client that is still sending would get a reset and lose them.
constexpr milliseconds lingerTime{2000};
/// Buffers that are larger than this are freed when they are empty.
constexpr size_t keptCapacity = 4096;

} // namespace

void Connection::shrink(std::string &buffer) {
  if (buffer.empty() && buffer.capacity() > keptCapacity)
    buffer.shrink_to_fit();
}

Connection::Connection(Loop &loop, Socket socket, Peer peer, bool isReserved)
    : loop(loop), socket(std::move(socket)), timer(*loop.io),
      peer(std::move(peer)), peerNetwork(networkOf(this->peer.address)),
      hasReservedPlace(isReserved), changedAt(LoopClock::now()) {}

void Connection::start() {
  Status ready = guarded([this] { return prepare(); });
  if (!ready.ok())
    return close();
  setDeadline(loop.options.headerTimeout);
  onEvent();
}

Status Connection::prepare() {
  boost::system::error_code ec;
  if (socket.native_non_blocking(true, ec))
    return failure(ec.message());
  int descriptor = socket.native_handle();
  setOptions(descriptor, loop.options.stallTimeout);
  if (loop.tls)
    stream = TlsStream::create(*loop.tls, descriptor, loop.traffic);
  else
    stream = std::make_unique<PlainStream>(descriptor, loop.traffic);
  return stream ? Status() : Status::outOfMemory();
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

void Connection::waitFor(Wait kind) {
  bool &isWaiting = waiting[kind == Socket::wait_read ? 0 : 1];
  if (isWaiting)
    return;
  isWaiting = true;
  // An error is found out by reading or writing, too.
  socket.async_wait(kind, [self = shared_from_this(),
                           &isWaiting](const boost::system::error_code &) {
    isWaiting = false;
    self->onEvent();
  });
}

/// Posts an event that the socket will not give, because input was read
/// already.
void Connection::postEvent() {
  asio::post(*loop.io, [self = shared_from_this()] { self->onEvent(); });
}

void Connection::onEvent() { guardedly(&Connection::advance); }

/// Sends what is new of the answer, or resets if the exchange is broken.
void Connection::onWake() {
  if (exchange && exchange->broken())
    return reset();
  guardedly(&Connection::writeOutput);
}

/// Runs a step; if memory runs out, only this connection ends.
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

/// Returns whether the handshake is complete.
bool Connection::handshake() {
  switch (stream->handshake()) {
  case IoState::Done:
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
  loop.remove(self);
  if (!exchange)
    return;
  loop.openExchanges.fetch_sub(1, relaxed);
  // Last, because it calls the user's code.
  std::shared_ptr<ExchangeState> abandoned = std::move(exchange);
  if (std::function<void()> fn = abandoned->leave())
    (void)guarded([&] {
      fn();
      return Status();
    });
}

/// Closes the connection so that the client notices that something is missing,
/// and drops what the kernel still holds.
void Connection::reset() {
  if (state == State::Closed)
    return;
  boost::system::error_code ignored;
  ignored = socket.set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

Connection::Worth Connection::worth() const {
  if (state == State::Answering)
    return answerTaken && waitingSince != never ? Worth::Reading
                                                : Worth::Served;
  if (state != State::Request ||
      parser->stage() == RequestParser::Stage::Header)
    return Worth::Silent;
  if (parser->stage() == RequestParser::Stage::Body)
    return Worth::Sending;
  return hasServed ? Worth::Idle : Worth::Silent;
}

LoopClock::time_point Connection::since() const {
  return waitingSince != never ? waitingSince : changedAt;
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

const BudgetAccount *Connection::waitingAnswers() const {
  return exchange && waitingSince != never ? &exchange->answers() : nullptr;
}

double Connection::readingRate(LoopClock::time_point now) const {
  constexpr double shortest = 1e-3;
  double seconds = std::chrono::duration<double>(now - waitingSince).count();
  return static_cast<double>(takenSince) / std::max(seconds, shortest);
}

/// Handles a client that does not take all of the output at once. If it has
/// taken enough before the deadline, it gets the same time again.
void Connection::outputWaits(size_t taken) {
  if (waitingSince == never) {
    waitingSince = LoopClock::now();
    takenSince = 0;
  }
  takenSince += taken;
  takenInTime += taken;
  if (exchange && exchange->answers().isOver())
    loop.shared->tooMuch();
  const auto wanted = std::chrono::duration<double>(loop.options.stallTimeout) *
                      loop.options.slowestRate;
  bool isEnough =
      takenInTime > 0 && static_cast<double>(takenInTime) >= wanted.count();
  if (state == State::Request || (deadline != never && !isEnough))
    return;
  takenInTime = 0;
  setDeadline(loop.options.stallTimeout);
}

/// Sends output. Returns whether all has been sent and the connection is open.
bool Connection::sendOutput() {
  size_t taken = 0;
  while (state != State::Closed && outputSent < output.size()) {
    IoResult result =
        stream->write(output.data() + outputSent, output.size() - outputSent);
    if (result.state == IoState::Done) {
      outputSent += result.bytes;
      taken += result.bytes;
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
    if (state != State::Closed)
      outputWaits(taken);
    return false;
  }
  waitingSince = never;
  takenInTime = 0;
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
  hasServed = true;
  loop.openExchanges.fetch_sub(1, relaxed);
  lookAt = never;
  if (closesAfter || loop.draining) {
    input = {};
    state = State::Ending;
  } else {
    startRequest(loop.options.idleTimeout);
  }
  if (!waiting[0])
    postEvent(); // reading had stopped, or the handler was called while reading
}

/// Called when everything has been sent. Closes the connection when the client
/// has closed it, or after a while.
void Connection::endOutput() {
  if (inputOver)
    return close();
  state = State::Lingering;
  changedAt = LoopClock::now();
  stream->end();
  setDeadline(lingerTime);
  if (!waiting[0])
    postEvent();
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

void Connection::setDeadline(milliseconds after) {
  deadline = LoopClock::now() + after;
  armTimer();
}

void Connection::armTimer() {
  LoopClock::time_point due = std::min(deadline, lookAt);
  if (state == State::Closed || due >= timerAt)
    return; // the timer expires earlier, and is set again then
  timerAt = due;
  timer.expires_at(due);
  timer.async_wait(
      [self = shared_from_this()](const boost::system::error_code &ec) {
        if (!ec)
          self->guardedly(&Connection::onTimer);
      });
}

void Connection::onTimer() {
  LoopClock::time_point now = LoopClock::now();
  if (now < timerAt)
    return; // the timer was set anew after it had expired
  timerAt = never;
  if (lookAt <= now) {
    lookAt = never;
    if (peerIsGone())
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
    return;
  }
  if (state == State::Request)
    return endOutput();
  if (state == State::Answering || state == State::Ending)
    return reset();
  close();
}

/// Returns whether the client has closed or reset the connection. Finds out
/// without reading the bytes that have come before.
bool Connection::peerIsGone() {
  pollfd polled = {};
  polled.fd = socket.native_handle();
  polled.events = POLLRDHUP;
  return poll(&polled, 1, 0) > 0 &&
         (polled.revents & (POLLRDHUP | POLLERR | POLLHUP)) != 0;
}
