//===- Connection.h - one client's connection -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads requests, has them handled one after another, and sends the answers. As
// a state machine:
//
//   Handshake --> Request --> Answering --> (Request again, or Ending)
//                                 Ending --> Lingering --> Closed
//
// It waits until the socket is ready and then reads and writes without waiting,
// through a buffer that all connections share. While an answer is being made a
// read is always outstanding, by which a client's leaving is noticed.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_CONNECTION_H
#define SLUICE_RUNTIME_HTTP_CONNECTION_H

#include "runtime/http/ExchangeState.h"
#include "runtime/http/Loop.h"

#include <array>
#include <optional>

namespace sluice::http::server {

/// Lives as long as it waits for something or is in Loop::connections. All on
/// the server's thread.
class Connection : public std::enable_shared_from_this<Connection> {
public:
  struct Peer {
    std::string address;
    uint16_t port = 0;
  };
  /// `isReserved`: it has one of the places for requests that need one.
  Connection(Loop &loop, Socket socket, Peer peer, bool isReserved);

  void start();
  /// Ends it if it is between two requests. Others end after their answer,
  /// because the loop is draining.
  void drain();
  /// Closes it in whatever state it is; the client has gone.
  void close();
  /// There may be something new of the answer.
  void onWake();
  /// Closes it with a reset: the client is too slow.
  void cutOff() { reset(); }

  /// See networkOf().
  uint64_t network() const { return peerNetwork; }
  bool isReserved() const { return hasReservedPlace; }

  /// What closing it would take from its client, the least first.
  enum class Worth : uint8_t {
    Silent,  ///< no complete header has come, or all is over
    Idle,    ///< its requests have been answered
    Sending, ///< its body is coming
    Reading, ///< all of its answer is there, and waits for it
    Served,  ///< something else is being done for it
  };
  Worth worth() const;
  /// Since when it has been like that.
  LoopClock::time_point since() const;

  /// The account of an answer of which something waits for the client; null:
  /// nothing does.
  const BudgetAccount *waitingAnswers() const;
  /// Bytes of such an answer that the client takes a second.
  double readingRate(LoopClock::time_point now) const;

private:
  enum class State {
    Handshake,
    Request,
    Answering,
    Ending,    ///< the last bytes are being sent
    Lingering, ///< reads, so that the client can read them; see endOutput()
    Closed,
  };
  using Wait = Socket::wait_type;

  Status prepare();
  void waitFor(Wait kind);
  void postEvent();
  void onEvent();
  void guardedly(void (Connection::*step)());
  void advance();
  bool handshake();

  const HeaderLimits &limits() const { return loop.limits; }

  /// Gives back what an empty buffer holds, if it is large.
  static void shrink(std::string &buffer);

  // Input.
  bool wantsInput() const;
  void readInput();
  void takeInput(std::string_view fresh);
  void parseInput(std::string_view fresh);
  void stageChanged(RequestParser::Stage stage);
  void inputEnded(IoState how);
  void startRequest(std::chrono::milliseconds patience);
  bool countBody();
  void dropBody();
  const TenantAccounts &accountsOf(const Request &request);
  bool refuseWithoutPlace();
  void dispatch();
  void refuse(int status, std::string message);
  void
  answerAtOnce(const std::function<void(std::shared_ptr<Exchange>)> &handle);
  void answer(Request request,
              const std::function<void(std::shared_ptr<Exchange>)> &handle);

  // Output.
  void writeOutput();
  bool sendOutput();
  void outputWaits(size_t taken);
  void endAnswer();
  void endOutput();
  void reset();

  // Time.
  void setDeadline(std::chrono::milliseconds after);
  void armTimer();
  void onTimer();
  void onDeadline();
  bool peerIsGone();

  Loop &loop;
  Socket socket;
  Timer timer;
  std::unique_ptr<ByteStream> stream;
  const Peer peer;
  const uint64_t peerNetwork;
  const bool hasReservedPlace;
  State state = State::Handshake;
  LoopClock::time_point changedAt; ///< its state, or what it receives
  bool hasServed = false;          ///< a request

  std::array<bool, 2> waiting{};       ///< by Wait: read, write
  std::optional<RequestParser> parser; ///< in state Request
  std::string input;                   ///< received, not parsed
  size_t bodyCounted = 0;              ///< of the body that is being received
  std::optional<TenantAccounts> accounts; ///< of its tenant, once it has a body
  bool inputOver = false;                 ///< the client sends no more

  std::string output;                      ///< to send
  size_t outputSent = 0;                   ///< of `output`
  std::shared_ptr<ExchangeState> exchange; ///< in state Answering
  bool answerTaken = false; ///< all of the answer is in `output`, or sent
  bool closesAfter = false; ///< the answer says so

  static constexpr LoopClock::time_point never = LoopClock::time_point::max();
  LoopClock::time_point waitingSince =
      never;                ///< something waits for the client
  uint64_t takenSince = 0;  ///< of that, bytes
  uint64_t takenInTime = 0; ///< likewise, since `deadline` was set
  /// How often to look for a client from which nothing is read.
  static constexpr std::chrono::milliseconds lookInterval{250};
  LoopClock::time_point deadline = never; ///< of the state
  /// When to look whether the client is there, while nothing is read.
  LoopClock::time_point lookAt = never;
  LoopClock::time_point timerAt = never; ///< when the timer goes off
};

} // namespace sluice::http::server

#endif // SLUICE_RUNTIME_HTTP_CONNECTION_H
