//===- Session.cpp - one HTTP request for generated text ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The life of a session: how it begins, receives tokens and ends.
// SessionAnswer.cpp makes the answer.
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/Session.h"

#include "runtime/base/Guarded.h"
#include "runtime/base/Insist.h"
#include "runtime/pipeline/Clock.h"

#include <ctime>

using namespace sluice;
using namespace sluice::serve;

using openai::ApiError;
using pipeline::RequestEvent;

/// Retry-After, in seconds, when all places are taken.
static constexpr int retrySeconds = 1;

static double inSeconds(Time time) {
  return std::chrono::duration<double>(time).count();
}

static ApiError queueTimeoutError() {
  return {.status = 503,
          .message = "the request has waited too long for its turn",
          .code = "queue_timeout"};
}

static ApiError requestTimeoutError() {
  return {.status = 504,
          .message = "the request took longer than it may",
          .code = "request_timeout"};
}

Time SessionServices::beginUntil(Time arrived) const {
  Time max = requestTimeout;
  if (queueTimeout > Time(0) && (max == Time(0) || queueTimeout < max))
    max = queueTimeout;
  return max > Time(0) ? arrived + max : Time(0);
}

void SessionServices::failExpired(Responder &responder) const {
  if (requestTimeout > Time(0) &&
      pipeline::now() >= responder.arrived() + requestTimeout)
    return responder.fail(requestTimeoutError());
  responder.fail(queueTimeoutError(), retrySeconds);
}

void SessionServices::failRefused(Responder &responder) const {
  metrics.refused.add();
  responder.fail({.status = 429,
                  .message = "too many requests are waiting",
                  .code = "queue_full"},
                 retrySeconds);
}

WorkMeter SessionServices::meterFor(WorkItem::Pace pace,
                                    WorkMeter::Unwanted isUnwanted) const {
  constexpr std::chrono::milliseconds quickTime{20};
  WorkMeter::Limits work = limits.grammarWork;
  if (pace == WorkItem::Pace::Quick)
    work.time = std::min<std::chrono::nanoseconds>(work.time, quickTime);
  return WorkMeter(work, std::move(isUnwanted));
}

bool SessionServices::isLong(size_t bodyBytes) {
  constexpr size_t quickBytes = size_t{256} << 10; // about 20 ms
  return bodyBytes > quickBytes;
}

static std::vector<std::string> idsOf(const std::string &id,
                                      const std::string &clientId) {
  std::vector<std::string> ids = {id};
  if (!clientId.empty())
    ids.push_back(clientId);
  return ids;
}

Session::Session(SessionServices &services, Responder responder,
                 openai::Endpoint endpoint, Caller caller, uint64_t random,
                 const std::string &clientId)
    : services(services), endpoint(endpoint), from(caller), random(random),
      id(openai::answerId(endpoint, random)),
      ids(idsOf(id, clientId.empty() ? "" : caller.ownId(clientId))),
      responder(std::move(responder)) {
  this->responder.note("id=" + id);
}

Session::~Session() = default;

void Session::start() {
  std::shared_ptr<Session> self = shared_from_this();
  if (!services.table.add(ids, self))
    return responder.fail(
        {.status = 400,
         .message = "a request with the id '" +
                    *responder.request().field("X-Request-Id") +
                    "' is under way",
         .param = "X-Request-Id",
         .code = "duplicate_request_id"});
  Status begun = guarded([&] {
    waitForBegin();
    return Status();
  });
  if (begun.ok() || !leavePhase(Phase::Waiting))
    return;
  fail({.status = 500, .message = begun.message()});
  conclude();
}

void Session::waitForBegin() {
  auto onGone = [weak = weak_from_this()] {
    if (std::shared_ptr<Session> session = weak.lock())
      session->abort(Reason::Left);
  };
  if (!responder.exchange().onGone(onGone))
    return abort(Reason::Left);
  if (!services.pool.begin(shared_from_this(), from.tenant,
                           services.beginUntil(responder.arrived())))
    refuse();
}

/// Goes to Over if the phase is `current`. Returns whether it was.
bool Session::leavePhase(Phase current) {
  std::lock_guard lock(mutex);
  if (phase != current)
    return false;
  phase = Phase::Over;
  return true;
}

/// Answers and concludes. If memory for the answer runs out, the session ends
/// all the same, and the client gets what Responder::finish() says.
template <typename Fn> void Session::concludeAfter(Fn &&answer) {
  (void)guarded([&] {
    answer();
    return Status();
  });
  conclude();
}

void Session::refuse() {
  if (!leavePhase(Phase::Waiting)) // the client has gone meanwhile
    return;
  beginLastAnswer();
  concludeAfter([this] { services.failRefused(responder); });
}

void Session::abort(Reason why) {
  std::unique_lock lock(mutex);
  if (phase == Phase::Over || reason != Reason::None)
    return;
  reason = why;
  if (phase == Phase::Running)
    for (const Sink &sink : sinks)
      services.engine.finish(sink, FinishReason::Cancelled);
  // If the session is being read, begin() checks the reason itself.
  if (phase != Phase::Waiting)
    return;
  phase = Phase::Over;
  lock.unlock();
  services.pool.withdraw(*this);
  concludeAfter([&] { answerAbort(why); });
}

ApiError Session::abortError(Reason why) const {
  if (why == Reason::Stopping)
    return {.status = 503,
            .message = "the server is shutting down",
            .code = "shutting_down"};
  return {.status = 499,
          .message = "the request was aborted",
          .code = "request_aborted"};
}

/// Marks that the answer ends next, and frees the ids, because a client that
/// has the answer may use them again.
void Session::beginLastAnswer() {
  isAnswered = true;
  services.table.release(ids, *this);
}

void Session::answerAbort(Reason why) {
  if (isAnswered)
    return;
  if (why == Reason::Left) {
    services.metrics.disconnects.add();
    beginLastAnswer();
    responder.clientLeft();
  } else {
    fail(abortError(why));
  }
}

/// Ends the session's use of the services and removes it from the table. The
/// engine's references may keep it alive for longer.
void Session::conclude() {
  responder.finish();
  services.table.remove(ids, shared_from_this());
}

//===----------------------------------------------------------------------===//
// From the body to the engine
//===----------------------------------------------------------------------===//

bool Session::begin(Pace pace) {
  {
    std::lock_guard lock(mutex);
    if (phase != Phase::Waiting)
      return true;
    phase = Phase::Reading;
  }
  bool isRead = true;
  Status done = guarded([&] {
    isRead = read(pace);
    return Status();
  });
  if (!done.ok())
    fail({.status = 500, .message = done.message()});
  if (!isRead) {
    std::lock_guard lock(mutex);
    if (reason == Reason::None) {
      phase = Phase::Waiting;
      return false;
    }
  }
  if (!isAnswered) {
    submit(); // or end it, if it has been aborted
  } else {
    leavePhase(Phase::Reading);
    conclude();
  }
  return true;
}

void Session::expire() {
  if (!leavePhase(Phase::Waiting))
    return;
  beginLastAnswer();
  services.metrics.ended(FinishReason::Timeout);
  concludeAfter([this] { services.failExpired(responder); });
}

/// Fails if the key may not use the request's priority.
std::optional<ApiError> Session::checkPriority() const {
  const KeyTerms &terms = from.terms;
  for (const ScheduledRequest &scheduled : request.requests)
    if (scheduled.priority < terms.minPriority ||
        scheduled.priority > terms.maxPriority)
      return openai::invalidField(
          "priority", "'priority' is " + std::to_string(scheduled.priority) +
                          ", and with this key it can be " +
                          std::to_string(terms.minPriority) + " to " +
                          std::to_string(terms.maxPriority));
  return std::nullopt;
}

/// Reads the request and makes what its answer needs, or answers with an error.
/// Returns false if that takes too long for this pace, or if the session has
/// been aborted.
bool Session::read(Pace pace) {
  const std::string &body = responder.request().body;
  if (pace == Pace::Quick && SessionServices::isLong(body.size()))
    return false;
  WorkMeter meter = services.meterFor(pace, [this] {
    std::lock_guard lock(mutex);
    return reason != Reason::None;
  });
  openai::RequestContext context = {
      services.model,  random, std::time(nullptr),
      services.limits, &meter, services.scopes.of(from, {})};
  auto parsed = endpoint == openai::Endpoint::Chat
                    ? openai::parseChatRequest(body, context)
                    : openai::parseCompletionRequest(body, context);
  if (meter.end() == WorkMeter::End::Unwanted ||
      (meter.end() == WorkMeter::End::Time && pace == Pace::Quick))
    return false;
  (void)responder.exchange().takeBody();
  if (!parsed) {
    fail(parsed.error());
    return true;
  }
  request = parsed.take();
  if (std::optional<ApiError> refused = checkPriority()) {
    fail(*refused);
    return true;
  }
  if (!responder.exchange().hold(request.heldBytes())) {
    services.metrics.refused.add();
    fail({.status = 503, .message = "too many bytes of requests at once"},
         retrySeconds);
    return true;
  }
  writer.emplace(request, services.model, id, context.now);
  const size_t count = request.requests.size();
  choices.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    ScheduledRequest &scheduled = request.requests[i];
    scheduled.spec.tenant = from.tenant;
    scheduled.terms = {.weight = from.terms.weight,
                       .maxRunning = from.terms.maxRunning};
    scheduled.spec.prefixScope = services.scopes.of(from, request.cacheSalt);
    if (services.requestTimeout > Time(0))
      scheduled.deadline = responder.arrived() + services.requestTimeout;
    choices.push_back({.text = {request, services.model, i}});
    if (i % static_cast<size_t>(request.choices) == 0)
      choices[i].promptTokens = std::ssize(scheduled.spec.prompt);
  }
  endsToGo = count;
  sinks = std::vector<Sink>(count);
  for (size_t i = 0; i < count; ++i) {
    sinks[i].session = this;
    sinks[i].index = static_cast<uint32_t>(i);
  }
  return true;
}

void Session::submit() {
  std::shared_ptr<Session> self = shared_from_this();
  Reason why;
  {
    // Under the lock, because the engine must get a finish() after the submit()
    // of the same request.
    std::lock_guard lock(mutex);
    why = reason;
    if (why == Reason::None) {
      phase = Phase::Running;
      // A sink is part of its session, so a reference to it keeps the session
      // alive.
      for (size_t i = 0; i < sinks.size(); ++i)
        services.engine.submit(
            std::move(request.requests[i]),
            std::shared_ptr<pipeline::TokenSink>(self, &sinks[i]));
    } else {
      phase = Phase::Over;
    }
  }
  if (why != Reason::None)
    concludeAfter([&] { answerAbort(why); });
}

//===----------------------------------------------------------------------===//
// Tokens and ends from the engine
//===----------------------------------------------------------------------===//

void Session::Sink::push(RequestEvent event) {
  session->push(index, std::move(event));
}

/// Called on the head's thread.
void Session::push(uint32_t index, RequestEvent event) {
  {
    std::unique_lock lock(mutex);
    if (inbox.size() == inbox.capacity())
      insist(lock, [this] { inbox.reserve(2 * inbox.size() + 1); });
    inbox.push_back({index, std::move(event)});
    if (isQueued)
      return;
    isQueued = true;
  }
  services.pool.proceed(shared_from_this());
}

void Session::proceed() {
  std::vector<Arrival> arrived;
  {
    std::lock_guard lock(mutex);
    arrived.swap(inbox);
  }
  auto orFail = [this](auto &&body) {
    Status done = guarded([&] {
      body();
      return Status();
    });
    if (!done.ok())
      fail({.status = 500, .message = done.message()});
  };
  // Guards each arrival separately, because no end may be lost.
  for (Arrival &arrival : arrived)
    orFail([&] { take(arrival); });
  orFail([&] { answer(); });
  bool isOver = endsToGo == 0;
  bool hasMore = false;
  {
    std::lock_guard lock(mutex);
    hasMore = !inbox.empty();
    isQueued = hasMore;
    if (isOver)
      phase = Phase::Over;
  }
  if (hasMore)
    services.pool.proceed(shared_from_this());
  if (isOver)
    conclude();
}

void Session::take(Arrival &arrival) {
  Choice &choice = choices[arrival.index];
  if (auto *token = std::get_if<TokenEvent>(&arrival.event))
    return takeToken(choice, arrival.index, *token);
  choice.hasEnded = true;
  --endsToGo;
  takeEnd(choice, arrival.index, std::get<RequestEnd>(arrival.event));
}

void Session::takeToken(Choice &choice, uint32_t index, TokenEvent &token) {
  if (token.ofPrompt) {
    if (choice.isComplete || isAnswered)
      return;
    choice.piece.append(choice.text.pushPrompt(token.report));
    return touch(choice, index);
  }
  ServeMetrics &metrics = services.metrics;
  metrics.generationTokens.add();
  if (choice.lastToken == Time(0)) {
    metrics.timeToFirstToken.observe(inSeconds(token.at - responder.arrived()));
    metrics.promptTokens.add(static_cast<uint64_t>(choice.promptTokens));
  } else {
    metrics.interTokenLatency.observe(inSeconds(token.at - choice.lastToken));
  }
  choice.lastToken = token.at;
  if (choice.isComplete || isAnswered)
    return;
  ++tokensSoFar;
  choice.piece.append(choice.text.push(token.token, token.report));
  if (choice.text.stopped()) {
    services.engine.finish(sinks[index], FinishReason::Stop);
    complete(choice, index, FinishReason::Stop);
  }
  touch(choice, index);
}

void Session::takeEnd(Choice &choice, uint32_t index, const RequestEnd &end) {
  bool isGood =
      end.reason == FinishReason::Stop || end.reason == FinishReason::Length;
  ServeMetrics &metrics = services.metrics;
  if (end.refusal != Refusal::None) {
    metrics.refused.add(end.refusal == Refusal::QueueFull);
  } else if (end.isBroken) {
    metrics.ended(FinishReason::Error);
  } else {
    metrics.ended(end.reason);
    if (end.started)
      metrics.queueTime.observe(inSeconds(end.waited));
    if (isGood)
      metrics.requestLatency.observe(inSeconds(end.at - responder.arrived()));
    if (choice.promptTokens > 0)
      cachedTokens += end.cachedTokens;
  }
  if (choice.isComplete || isAnswered)
    return;
  if (end.hasFinished() && isGood)
    return complete(choice, index, end.reason);
  if (end.hasFinished() && end.reason == FinishReason::Cancelled) {
    std::unique_lock lock(mutex);
    Reason why = reason;
    lock.unlock();
    return answerAbort(why);
  }
  bool mayRetry = end.refusal != Refusal::None
                      ? end.refusal == Refusal::QueueFull
                      : end.reason == FinishReason::Timeout && !end.started;
  fail(errorOf(end), mayRetry ? retrySeconds : 0);
}

/// Returns the error for an end that does not complete an answer.
ApiError Session::errorOf(const RequestEnd &end) const {
  const std::string &why = end.failure.message();
  if (end.refusal == Refusal::QueueFull)
    return {.status = 429, .message = why, .code = "queue_full"};
  if (end.refusal != Refusal::None)
    return {.status = 400, .message = why};
  if (end.isBroken)
    return {.status = 503, .message = why};
  if (end.reason == FinishReason::Timeout && !end.started)
    return queueTimeoutError();
  if (end.reason == FinishReason::Timeout)
    return requestTimeoutError();
  return {.status = 500, .message = why};
}
