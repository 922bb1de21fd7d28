//===- Session.h - one HTTP request for generated text --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handles one HTTP request to /v1/completions or /v1/chat/completions, from its
// arrival until all of its requests have ended. Several threads use a session:
//
//   HTTP server   makes it, and aborts it when the client has gone
//   work pool     reads the HTTP request and gives its requests to the engine
//                 (begin), and turns tokens into the answer (proceed); only one
//                 thread at a time does so
//   head          puts tokens into the inbox, and never waits
//
// Tokens that arrive while the pool works on earlier ones are answered
// together: those of one choice become one chunk.
//
//   Waiting --begin--> Reading --> Running --> Over
//      | `---- long -----' |            |         ^
//      `-------------------`------------`---------'   leave, abort, errors
//
// A running session is over when all of its requests have ended in the engine.
// That can be after its answer: if the client has gone or an error has
// occurred, the engine takes up to a step to end the requests.
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

/// What sessions use. All of it must outlive them.
struct SessionServices {
  const openai::Model &model;
  openai::RequestLimits limits;
  Time requestTimeout{0}; ///< since the arrival; 0: none
  Time queueTimeout{0};   ///< from the arrival to the first row; 0: none
  ServingEngine &engine;
  WorkPool &pool;
  ServeMetrics &metrics;
  SessionTable &table;
  const PrefixScopes &scopes;

  /// Returns until when a request that arrived at `arrived` may wait for the
  /// pool; zero if it may wait for ever.
  Time beginUntil(Time arrived) const;
  /// Answers a request that has waited until beginUntil().
  void failExpired(Responder &responder) const;
  /// Answers a request that found no room in the pool's queue.
  void failRefused(Responder &responder) const;
  /// Returns a meter that limits the work of reading a request at this pace.
  /// `isUnwanted` returns whether the client has gone or the request was
  /// aborted.
  WorkMeter meterFor(WorkItem::Pace pace, WorkMeter::Unwanted isUnwanted) const;
  /// Returns whether a body of this size is read by the pool's slow threads.
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

  /// `random` gives the seeds and the answer's id; `clientId` is the value of
  /// X-Request-Id, or empty.
  Session(SessionServices &services, Responder responder,
          openai::Endpoint endpoint, Caller caller, uint64_t random,
          const std::string &clientId);
  ~Session() override;

  /// Puts the session into the table and the pool's queue, or answers with an
  /// error.
  void start();
  /// Returns the sender of the request.
  const Caller &caller() const { return from; }
  /// Ends the session. Does nothing if it is over; the first reason counts.
  void abort(Reason why);

  bool begin(Pace pace) override;
  void expire() override;
  void refuse() override;
  void proceed() override;

private:
  enum class Phase : uint8_t { Waiting, Reading, Running, Over };

  /// Receives the tokens and the end of one of the requests.
  class Sink final : public pipeline::TokenSink {
  public:
    void push(pipeline::RequestEvent event) override;
    Session *session = nullptr;
    uint32_t index = 0;
  };
  struct Arrival {
    uint32_t index;
    pipeline::RequestEvent event;
  };
  struct Choice {
    openai::ChoiceText text;
    openai::ChoicePiece piece = {}; ///< text that has not been sent yet
    openai::ChoiceEnd end = {};
    int64_t promptTokens = 0; ///< of a prompt's first choice; else 0
    Time lastToken{0};
    bool hasBegun = false; ///< whether its stream has begun
    bool isDirty = false;  ///< whether there may be something to send
    bool isComplete = false;
    bool hasEnded = false; ///< whether its request has ended in the engine
  };

  // On a thread of the pool, one at a time.
  void waitForBegin();
  bool read(Pace pace);
  std::optional<openai::ApiError> checkPriority() const;
  bool leavePhase(Phase current);
  void submit();
  void take(Arrival &arrival);
  void takeToken(Choice &choice, uint32_t index, TokenEvent &token);
  void takeEnd(Choice &choice, uint32_t index, const RequestEnd &end);
  void complete(Choice &choice, uint32_t index, FinishReason reason);
  void touch(Choice &choice, uint32_t index);
  openai::ApiError errorOf(const RequestEnd &end) const;
  void answer();
  void answerWhole();
  void answerStream();
  void appendChunks(std::string &events, uint32_t index);
  void fail(const openai::ApiError &error, int retrySeconds = 0);
  openai::Usage usage() const;
  void noteUsage();
  void giveUp();

  void push(uint32_t index, pipeline::RequestEvent event);
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
  const std::vector<std::string> ids; ///< all ids that name it in the table

  // Used only by the thread that works on the session.
  Responder responder;
  openai::GenerationRequest request;
  std::optional<openai::AnswerWriter> writer;
  std::vector<Choice> choices;
  std::vector<uint32_t> dirty;
  int64_t tokensSoFar = 0;
  int64_t cachedTokens = 0; ///< of prompts, each counted once
  size_t endsToGo = 0;      ///< requests that have not ended in the engine
  bool isStreaming = false; ///< whether events have been sent
  bool isAnswered = false;  ///< whether the answer has ended or is ending

  std::mutex mutex;
  Phase phase = Phase::Waiting;
  Reason reason = Reason::None;
  bool isQueued = false; ///< whether it waits for proceed()
  std::vector<Arrival> inbox;
  std::vector<Sink> sinks; ///< never resized from Running on
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_SESSION_H
