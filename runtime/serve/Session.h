//===- Session.h - one HTTP request for generated text --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One HTTP request to /v1/completions or /v1/chat/completions from its arrival
// until nothing of it is left. Several threads meet in it:
//
//   the server's    makes it, and says when the client has gone (leave);
//   the pool's      read the request and give it to the engine (begin), and
//                   make text and the answer of what comes back (proceed), one
//                   thread at a time;
//   the head's      puts tokens into its inbox, and waits for nothing.
//
// What piles up in the inbox while an earlier part is worked on is answered
// together: a choice's tokens then make one chunk.
//
//   Waiting --begin--> Reading --> Running --> Over
//      | `---- long -----' |            |         ^
//      `-------------------`------------`---------'   leave, abort, errors
//
// A session that runs is over when all of its requests have ended in the
// engine, which can be after its answer: a client that has gone, or an error,
// ends requests there, and that takes up to a step.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_SESSION_H
#define SLUICE_RUNTIME_SERVE_SESSION_H

#include "runtime/openai/AnswerWriter.h"
#include "runtime/openai/ApiRequest.h"
#include "runtime/openai/ChoiceText.h"
#include "runtime/serve/PrefixScopes.h"
#include "runtime/serve/Responder.h"
#include "runtime/serve/ServingEngine.h"
#include "runtime/serve/SessionTable.h"
#include "runtime/serve/WorkPool.h"

#include <optional>

namespace sluice::serve {

/// What sessions are made with; all of it outlives them.
struct SessionServices {
  const openai::Model &model;
  openai::RequestLimits limits;
  Time requestTimeout{0}; ///< from the arrival; 0: none
  Time queueTimeout{0};   ///< likewise, to the first row
  ServingEngine &engine;
  WorkPool &pool;
  ServeMetrics &metrics;
  SessionTable &table;
  const PrefixScopes &scopes;

  /// Until when what has arrived then may wait for the pool; zero: for ever.
  Time beginUntil(Time arrived) const;
  /// Answers what has waited longer than that.
  void failExpired(Responder &responder) const;
  /// Answers what finds no room in the pool's queue.
  void failRefused(Responder &responder) const;
  /// What reading a request may cost at this pace. `isUnwanted`: whether nobody
  /// waits for it any more.
  WorkMeter meterFor(WorkItem::Pace pace, WorkMeter::Unwanted isUnwanted) const;
  /// Whether reading a body of this size is left to those who have time for it.
  static bool isLong(size_t bodyBytes);
};

/// Thread-safe.
class Session final : public WorkItem,
                      public std::enable_shared_from_this<Session> {
public:
  /// Why a session ends before its time.
  enum class Reason : uint8_t {
    None,
    Left,    ///< the client has gone
    Aborted, ///< POST /abort_request
    Stopping ///< the server ends
  };

  /// `random`: for seeds and the answer's id; `clientId`: from X-Request-Id, or
  /// empty.
  Session(SessionServices &services, Responder responder,
          openai::Endpoint endpoint, Caller caller, uint64_t random,
          const std::string &clientId);
  ~Session() override;

  /// Puts it into the table and the pool's queue, or answers why not.
  void start();
  /// Who began it.
  const Caller &caller() const { return from; }
  /// Ends it; nothing where it is over. The first reason counts.
  void abort(Reason why);

  bool begin(Pace pace) override;
  void expire() override;
  void refuse() override;
  void proceed() override;

private:
  enum class Phase : uint8_t { Waiting, Reading, Running, Over };

  /// Where the engine puts what becomes of one of the requests.
  class Sink final : public pipeline::TokenSink {
  public:
    void push(pipeline::TokenItem item) override;
    Session *session = nullptr;
    uint32_t index = 0;
  };
  struct Arrival {
    uint32_t index;
    pipeline::TokenItem item;
  };
  struct Choice {
    openai::ChoiceText text;
    openai::ChoicePiece piece = {}; ///< not sent yet
    openai::ChoiceEnd end = {};
    int64_t promptTokens = 0; ///< of a prompt's first choice; else 0
    Time lastToken{0};
    bool hasBegun = false; ///< its stream
    bool isDirty = false;  ///< there may be something to send
    bool isComplete = false;
    bool hasEnded = false; ///< in the engine
  };

  // On a thread of the pool, while nobody else works on the session.
  void waitForBegin();
  bool read(Pace pace);
  std::optional<openai::ApiError> checkPriority() const;
  bool leavePhase(Phase current);
  void submit();
  void take(Arrival &arrival);
  void takeToken(Choice &choice, uint32_t index, pipeline::TokenItem &item);
  void takeEnd(Choice &choice, uint32_t index, const pipeline::TokenItem &item);
  void complete(Choice &choice, uint32_t index, FinishReason reason);
  void touch(Choice &choice, uint32_t index);
  openai::ApiError errorOf(const pipeline::TokenItem &item) const;
  void answer();
  void answerWhole();
  void answerStream();
  void appendChunks(std::string &events, uint32_t index);
  void fail(const openai::ApiError &error, int retrySeconds = 0);
  openai::Usage usage() const;
  void noteUsage();
  void giveUp();

  void push(uint32_t index, pipeline::TokenItem item);
  openai::ApiError abortError(Reason why) const;
  void answerAbort(Reason why);
  void beginLastAnswer();
  template <typename Fn> void concludeAfter(Fn &&answer);
  void conclude();

  SessionServices &services;
  const openai::Endpoint endpoint;
  const Caller from;
  const uint64_t random;
  const std::string id;
  const std::vector<std::string> ids; ///< all that it can be asked for by

  // Of who works on it.
  Responder responder;
  openai::GenerationRequest request;
  std::optional<openai::AnswerWriter> writer;
  std::vector<Choice> choices;
  std::vector<uint32_t> dirty;
  int64_t tokensSoFar = 0;
  int64_t cachedTokens = 0; ///< of prompts, each counted once
  size_t endsToGo = 0;      ///< requests that have not ended in the engine
  bool isStreaming = false; ///< events have been sent
  bool isAnswered = false;  ///< to the end, or that is being done

  std::mutex mutex;
  Phase phase = Phase::Waiting;
  Reason reason = Reason::None;
  bool isQueued = false; ///< for proceed()
  std::vector<Arrival> inbox;
  std::vector<Sink> sinks; ///< fixed from Running on
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_SESSION_H
