//===- ExchangeState.h - an answer on its way to the server's thread ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an Exchange and its connection share: any thread puts an answer in, the
// server's thread takes it out, as bytes to send.
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

/// What exchanges need of their server, also when it is no more.
struct Shared {
  size_t unsentBytes = 0;
  /// Called on any thread when a tenant's answers that wait for their readers
  /// are more than they may be. Must not block.
  std::function<void()> tooMuch;
  std::atomic<bool> cutsOff = false; ///< it has been, and will see to it
  /// There was no memory to wake the server's thread for an exchange.
  std::atomic<bool> hasMissed = false;
};

/// Of the tenant whose request it is.
struct TenantAccounts {
  std::shared_ptr<BudgetAccount> bodies;  ///< ServerOptions::allBodyBytes
  std::shared_ptr<BudgetAccount> answers; ///< ServerOptions::allAnswerBytes
};

class ExchangeState {
public:
  /// `wake` makes the server's thread call take(); from any thread; it throws
  /// nothing. The request's body counts in its account already.
  ExchangeState(Request request, TenantAccounts accounts,
                std::shared_ptr<Shared> shared, std::function<void()> wake);
  ~ExchangeState();

  // Any thread; see Exchange.
  const Request &request() const { return asked; }
  std::string takeBody();
  void reply(int status, const Fields &fields, std::string body);
  void fail(int status, std::string_view message, Fields fields);
  bool startStream(int status, const Fields &fields);
  bool write(std::string_view data);
  void endStream();
  bool onGone(std::function<void()> fn);
  bool gone() const;
  void breakOff() noexcept;
  /// The last Exchange has gone.
  void abandon() noexcept;

  // The server's thread.
  struct Taken {
    bool complete = false; ///< that was the end of the answer
    bool closes = false;   ///< the connection closes behind it
  };
  /// Appends to `out` what is new. `mustClose`: the connection is not to be
  /// used again.
  Taken take(std::string &out, bool mustClose);
  /// There will be no end: the connection is to be reset. To be asked whenever
  /// wake() has been called, also while what was taken is not sent.
  bool broken() const;
  /// So much of what has been taken has not been given to the kernel.
  void setUnsent(size_t bytes);
  const BudgetAccount &answers() const { return *accounts.answers; }
  /// The client is no more, or the server stops. Gives what is to be called for
  /// onGone(), or null.
  std::function<void()> leave();

private:
  enum class Phase {
    Unanswered,
    Streaming, ///< the stream's end is to come
    Complete,  ///< the answer's end is in `pending`, or has been taken
    Broken,    ///< too slow, or abandoned in the middle of a stream
    Gone,
  };

  /// Of `pending`, between two pieces of a stream.
  static constexpr size_t keptCapacity = 4096;

  bool hasBody() const;
  void wakeOnce(std::unique_lock<std::mutex> &lock);
  void breakOff(std::unique_lock<std::mutex> &lock) noexcept;
  void appendNewHead(std::string &out, bool mustClose);
  bool recount();
  void tellIf(bool isTooMuch) const;

  Request asked; ///< const but for takeBody()
  const TenantAccounts accounts;
  const std::shared_ptr<Shared> shared;
  const std::function<void()> wake;

  mutable std::mutex mutex; ///< guards what follows
  size_t unsent = 0;        ///< taken, and not given to the kernel
  size_t counted = 0;       ///< in the account of answers
  Phase phase = Phase::Unanswered;
  bool isStream = false;
  bool isGone = false;   ///< before the answer was complete
  bool isAwake = false;  ///< wake() was called for a piece, take() not yet
  bool headDone = false; ///< the head has been taken
  BodyEnd end = BodyEnd::Length;
  bool closes = false;
  int status = 0;
  size_t length = 0; ///< of a body that is complete
  Fields fields;
  std::string pending; ///< of the body, not taken
  std::function<void()> goneFn;
};

} // namespace sluice::http::server

#endif // SLUICE_RUNTIME_HTTP_EXCHANGESTATE_H
