//===- Connection.h - one client's connection -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads requests from a client, has them handled one after another, and sends
// the answers. It is a state machine:
//
//   Handshake --> Request --> Answering --> (Request again, or Ending)
//                                 Ending --> Lingering --> Closed
//
// It waits until the socket is ready, and then reads and writes without
// waiting. All connections share one buffer for reading. During an answer it
// keeps waiting for input, so that it notices when the client goes.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_CONNECTION_H
#define SLUICE_RUNTIME_HTTP_CONNECTION_H

#include "runtime/http/ExchangeState.h"
#include "runtime/http/Loop.h"

#include <array>
#include <optional>

namespace sluice::http::server {

/// Lives as long as it waits for something or is in Loop::connections. All
/// methods run on the server's thread.
class Connection : public std::enable_shared_from_this<Connection> {
public:
  struct Peer {
    std::string address;
    uint16_t port = 0;
  };
  /// `isReserved`: the connection has one of the reserved places.
  Connection(Loop &loop, Socket socket, Peer peer, bool isReserved);

  void start();
  /// Closes the connection if it is between two requests. Otherwise it closes
  /// after the current answer, because the loop is draining.
  void drain();
  /// Closes the connection in any state and reports that the client has gone.
  void close();
  /// Sends what is new of the answer.
  void onWake();
  /// Resets the connection because the client is too slow.
  void cutOff() { reset(); }

  /// See networkOf().
  uint64_t network() const { return peerNetwork; }
  bool isReserved() const { return hasReservedPlace; }

  /// What the client would lose if the connection were closed, least first.
  enum class Worth : uint8_t {
    Silent,  ///< no complete header has come, or all is over
    Idle,    ///< all of its requests have been answered
    Sending, ///< the client is sending a body
    Reading, ///< the complete answer waits for the client to read
    Served,  ///< a request is being handled
  };
  Worth worth() const;
  /// Returns since when it has had this worth.
  LoopClock::time_point since() const;

  /// Returns the account of the answer, if parts of it wait for the client;
  /// otherwise null.
  const BudgetAccount *waitingAnswers() const;
  /// Returns how fast the client reads this answer, in bytes a second.
  double readingRate(LoopClock::time_point now) const;

private:
  enum class State {
    Handshake,
    Request,
    Answering,
    Ending, ///< the last bytes are being sent
    /// Input is still read, so that the client can read the answer; see
    /// endOutput().
    Lingering,
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

  /// Frees the memory of an empty buffer if it is large.
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
  /// When `state` or the stage of the request last changed.
  LoopClock::time_point changedAt;
  bool hasServed = false; ///< whether it has had a request

  std::array<bool, 2> waiting{};       ///< [Wait]: read, write
  std::optional<RequestParser> parser; ///< in state Request
  std::string input;                   ///< received, not parsed
  size_t bodyCounted = 0;              ///< bytes of the body in its account
  /// The tenant's accounts, from the body's first byte on.
  std::optional<TenantAccounts> accounts;
  bool inputOver = false; ///< the client sends no more

  std::string output;                      ///< to send
  size_t outputSent = 0;                   ///< bytes of `output` that were sent
  std::shared_ptr<ExchangeState> exchange; ///< in state Answering
  bool answerTaken = false; ///< the whole answer is in `output` or sent
  bool closesAfter = false; ///< the answer says that the connection closes

  static constexpr LoopClock::time_point never = LoopClock::time_point::max();
  /// Since when output has waited for the client.
  LoopClock::time_point waitingSince = never;
  /// Bytes that the client has taken since `waitingSince`.
  uint64_t takenSince = 0;
  /// Bytes that the client has taken since `deadline` was set.
  uint64_t takenInTime = 0;
  /// How often to check for a client that has gone while reading is paused.
  static constexpr std::chrono::milliseconds lookInterval{250};
  LoopClock::time_point deadline = never; ///< of the current state
  /// When to check next whether the client is there, while reading is paused.
  LoopClock::time_point lookAt = never;
  LoopClock::time_point timerAt = never; ///< when the timer expires
};

} // namespace sluice::http::server

#endif // SLUICE_RUNTIME_HTTP_CONNECTION_H
