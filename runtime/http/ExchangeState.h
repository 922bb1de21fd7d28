//===- ExchangeState.h - an answer between handler and connection ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state that an Exchange and its connection share. Any thread puts parts of
// an answer in; the server's thread takes them out as bytes to send.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_EXCHANGESTATE_H
#define SLUICE_RUNTIME_HTTP_EXCHANGESTATE_H

#include "runtime/http/AnswerHead.h"
#include "runtime/http/ServerOptions.h"
#include "runtime/http/TenantBudget.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

namespace sluice::http::server {

/// The part of the server that exchanges use, which outlives the server if they
/// do.
struct Shared {
  size_t unsentBytes = 0;
  /// Called, on any thread, if a tenant's answers that wait for their readers
  /// exceed its budget. Must not block.
  std::function<void()> tooMuch;
  /// Whether tooMuch() was called and has not been handled yet.
  std::atomic<bool> cutsOff = false;
  /// Memory ran out when an exchange had to wake the server's thread.
  std::atomic<bool> hasMissed = false;
};

/// The accounts of a request's tenant.
struct TenantAccounts {
  std::shared_ptr<BudgetAccount> bodies;  ///< ServerOptions::allBodyBytes
  std::shared_ptr<BudgetAccount> answers; ///< ServerOptions::allAnswerBytes
  std::shared_ptr<BudgetAccount> held;    ///< ServerOptions::allHeldBytes
  /// Requests that have no complete answer yet; ServerOptions::connections.
  std::shared_ptr<BudgetAccount> requests;
};

class ExchangeState {
public:
  /// `wake` makes the server's thread call take(). It may be called on any
  /// thread and must not throw. The request's body is in its account already.
  ExchangeState(Request request, TenantAccounts accounts,
                std::shared_ptr<Shared> shared, std::function<void()> wake);
  ~ExchangeState();

  // Called on any thread; see Exchange.
  const Request &request() const { return asked; }
  std::string takeBody();
  bool hold(int64_t bytes);
  void reply(int status, const Fields &fields, std::string body);
  void fail(int status, std::string_view message, Fields fields);
  bool startStream(int status, const Fields &fields);
  bool write(std::string_view data);
  void endStream();
  bool onGone(std::function<void()> fn);
  bool gone() const;
  void breakOff() noexcept;
  /// Called when the last Exchange has gone.
  void abandon() noexcept;

  // Called on the server's thread.
  struct Taken {
    bool complete = false; ///< the answer ends here
    bool closes = false;   ///< the connection closes after the answer
  };
  /// Appends the new bytes to `out`. With `mustClose`, the connection cannot be
  /// used for another request.
  Taken take(std::string &out, bool mustClose);
  /// Returns whether the answer will never end, so that the connection must be
  /// reset. Must be checked after each wake(), also while taken bytes are
  /// unsent.
  bool broken() const;
  /// Sets how many of the taken bytes the kernel has not accepted yet.
  void setUnsent(size_t bytes);
  const BudgetAccount &answers() const { return *accounts.answers; }
  /// Reports that the client has gone or the server stops. Returns the function
  /// to call for onGone(), or null.
  std::function<void()> leave();

private:
  enum class Phase {
    Unanswered,
    Streaming, ///< the stream has not ended
    Complete,  ///< the end of the answer is in `pending` or was taken
    Broken,    ///< the client was too slow, or a stream was abandoned
    Gone,
  };

  /// Capacity that `pending` may keep between two pieces of a stream.
  static constexpr size_t keptCapacity = 4096;

  bool hasBody() const;
  void wakeOnce(std::unique_lock<std::mutex> &lock);
  void breakOff(std::unique_lock<std::mutex> &lock) noexcept;
  void appendNewHead(std::string &out, bool mustClose);
  bool recount();
  void tellIf(bool isTooMuch) const;

  Request asked; ///< constant, except in takeBody()
  const TenantAccounts accounts;
  const std::shared_ptr<Shared> shared;
  const std::function<void()> wake;

  mutable std::mutex mutex; ///< guards what follows
  size_t unsent = 0;        ///< bytes taken and not yet accepted by the kernel
  size_t counted = 0;       ///< bytes in the account of answers
  std::atomic<int64_t> held = 0; ///< by hold()
  Phase phase = Phase::Unanswered;
  bool isStream = false;
  bool isGone = false;   ///< the client went before the answer was complete
  bool isAwake = false;  ///< between wake() for a piece and take()
  bool headDone = false; ///< the head has been taken
  BodyEnd end = BodyEnd::Length;
  bool closes = false;
  int status = 0;
  size_t length = 0; ///< of a complete body
  Fields fields;
  std::string pending; ///< bytes of the body that were not taken
  std::function<void()> goneFn;
};

} // namespace sluice::http::server

#endif // SLUICE_RUNTIME_HTTP_EXCHANGESTATE_H
