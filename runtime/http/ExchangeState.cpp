//===- ExchangeState.cpp - an answer between handler and connection -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/ExchangeState.h"

#include "runtime/base/Guarded.h"

#include <cassert>
#include <charconv>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::server;

ExchangeState::ExchangeState(Request request, TenantAccounts accounts,
                             std::shared_ptr<Shared> shared,
                             std::function<void()> wake)
    : asked(std::move(request)), accounts(std::move(accounts)),
      shared(std::move(shared)), wake(std::move(wake)) {
  this->accounts.requests->add(1);
}

ExchangeState::~ExchangeState() {
  takeBody();
  hold(0);
  accounts.requests->add(-1);
  accounts.answers->add(-static_cast<int64_t>(counted));
}

std::string ExchangeState::takeBody() {
  std::string body = std::move(asked.body);
  asked.body.clear();
  accounts.bodies->add(-static_cast<int64_t>(body.size()));
  return body;
}

bool ExchangeState::hold(int64_t bytes) {
  return accounts.held->add(bytes -
                            held.exchange(bytes, std::memory_order_relaxed));
}

/// Recounts the bytes that wait for the reader. Returns whether the tenant's
/// answers now exceed its budget. Called with the lock.
bool ExchangeState::recount() {
  size_t waiting = pending.size() + unsent;
  auto more = static_cast<int64_t>(waiting) - static_cast<int64_t>(counted);
  counted = waiting;
  return !accounts.answers->add(more) && more > 0;
}

/// Reports an exceeded budget. Called without the lock.
void ExchangeState::tellIf(bool isTooMuch) const {
  if (isTooMuch && shared->tooMuch)
    shared->tooMuch();
}

void ExchangeState::setUnsent(size_t bytes) {
  std::lock_guard lock(mutex);
  unsent = bytes;
  (void)recount(); // the count only falls here
}

/// Returns whether the answer's body is sent.
bool ExchangeState::hasBody() const {
  return asked.method != "HEAD" && !isBodiless(status);
}

/// Unlocks, and wakes the server's thread if it has not been woken.
void ExchangeState::wakeOnce(std::unique_lock<std::mutex> &lock) {
  bool isFirst = !isAwake;
  isAwake = true;
  lock.unlock();
  if (isFirst)
    wake();
}

/// Unlocks, and wakes the server's thread to reset the connection. Unsent bytes
/// are dropped, so the budget needs no check.
void ExchangeState::breakOff(std::unique_lock<std::mutex> &lock) noexcept {
  phase = Phase::Broken;
  lock.unlock();
  wake();
}

void ExchangeState::reply(int newStatus, const Fields &newFields,
                          std::string body) {
  assert(newStatus >= 200 && newStatus <= 599 && "no status of an answer");
  std::function<void()> dropped; // destroyed without the lock
  Fields own = newFields;        // first, because it may throw
  std::unique_lock lock(mutex);
  if (phase != Phase::Unanswered)
    return;
  phase = Phase::Complete;
  status = newStatus;
  fields = std::move(own);
  length = body.size();
  if (hasBody())
    pending = std::move(body);
  dropped = std::move(goneFn);
  goneFn = nullptr;
  bool isTooMuch = recount();
  wakeOnce(lock);
  tellIf(isTooMuch);
}

void ExchangeState::fail(int newStatus, std::string_view message,
                         Fields newFields) {
  newFields.emplace_back("Content-Type", "text/plain");
  reply(newStatus, newFields, std::string(message) + '\n');
}

bool ExchangeState::startStream(int newStatus, const Fields &newFields) {
  assert(newStatus >= 200 && newStatus <= 599 && "no status of an answer");
  Fields own = newFields; // first, because it may throw
  std::unique_lock lock(mutex);
  if (phase != Phase::Unanswered)
    return false;
  phase = Phase::Streaming;
  isStream = true;
  status = newStatus;
  fields = std::move(own);
  wakeOnce(lock);
  return true;
}

bool ExchangeState::write(std::string_view data) {
  std::unique_lock lock(mutex);
  if (phase != Phase::Streaming)
    return false;
  if (data.empty() || !hasBody())
    return true;
  size_t waiting = pending.size() + unsent;
  if (waiting > shared->unsentBytes ||
      data.size() > shared->unsentBytes - waiting) {
    isGone = true;
    breakOff(lock);
    return false;
  }
  pending += data;
  bool isTooMuch = recount();
  wakeOnce(lock);
  tellIf(isTooMuch);
  return true;
}

void ExchangeState::endStream() {
  std::function<void()> dropped; // destroyed without the lock
  std::unique_lock lock(mutex);
  if (phase != Phase::Streaming)
    return;
  phase = Phase::Complete;
  dropped = std::move(goneFn);
  goneFn = nullptr;
  wakeOnce(lock);
}

bool ExchangeState::onGone(std::function<void()> fn) {
  std::unique_lock lock(mutex);
  if (phase != Phase::Unanswered && phase != Phase::Streaming)
    return false;
  goneFn.swap(fn);
  lock.unlock(); // the earlier function is destroyed without it
  return true;
}

bool ExchangeState::gone() const {
  std::lock_guard lock(mutex);
  return isGone;
}

void ExchangeState::breakOff() noexcept {
  std::function<void()> dropped; // destroyed without the lock
  std::unique_lock lock(mutex);
  if (phase != Phase::Unanswered && phase != Phase::Streaming)
    return;
  dropped = std::move(goneFn);
  goneFn = nullptr;
  breakOff(lock);
}

void ExchangeState::abandon() noexcept {
  bool isUnanswered = false;
  {
    std::lock_guard lock(mutex);
    isUnanswered = phase == Phase::Unanswered;
  }
  if (isUnanswered)
    (void)guarded([this] {
      fail(500, "the request was dropped without an answer", {});
      return Status();
    });
  breakOff(); // does nothing if the answer is complete
}

void ExchangeState::appendNewHead(std::string &out, bool mustClose) {
  if (isBodiless(status))
    end = BodyEnd::NoBody;
  else if (!isStream)
    end = BodyEnd::Length;
  else
    end = asked.isHttp10 ? BodyEnd::Closing : BodyEnd::Chunks;
  closes = mustClose || !asked.keepAlive || end == BodyEnd::Closing;
  appendHead(out, {status, fields, end, length, closes, asked.isHttp10},
             std::time(nullptr));
  headDone = true;
  fields = {};
}

bool ExchangeState::broken() const {
  std::lock_guard lock(mutex);
  return phase == Phase::Broken;
}

ExchangeState::Taken ExchangeState::take(std::string &out, bool mustClose) {
  std::lock_guard lock(mutex);
  isAwake = false;
  if (phase != Phase::Streaming && phase != Phase::Complete)
    return {};
  if (!headDone)
    appendNewHead(out, mustClose);
  bool isChunked = end == BodyEnd::Chunks && hasBody();
  if (isChunked && !pending.empty()) {
    char size[2 * sizeof(size_t)];
    auto [last, error] =
        std::to_chars(size, size + sizeof size, pending.size(), 16);
    out.append(size, last).append("\r\n").append(pending).append("\r\n");
  } else {
    out += pending;
  }
  bool isComplete = phase == Phase::Complete;
  if (isChunked && isComplete)
    out += "0\r\n\r\n";
  pending.clear();
  if (isComplete || pending.capacity() > keptCapacity)
    pending.shrink_to_fit();
  unsent = out.size();
  (void)recount(); // the count grows by a head and framing
  return {.complete = isComplete, .closes = isComplete && closes};
}

std::function<void()> ExchangeState::leave() {
  std::lock_guard lock(mutex);
  if (phase != Phase::Complete)
    isGone = true;
  phase = Phase::Gone;
  pending = {};
  unsent = 0;
  (void)recount();
  std::function<void()> fn = std::move(goneFn);
  goneFn = nullptr;
  return fn;
}
