//===- HeadLoop.h - the head's thread -------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   HeadLoop loop(Head::create(...).take(), links);
//   std::thread thread([&] { loop.run(); });
//   loop.submit(spec, queue);
//   for (TokenItem item = queue.next(); ...)
//   loop.close(); thread.join();
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_HEADLOOP_H
#define SLUICE_RUNTIME_PIPELINE_HEADLOOP_H

#include "runtime/core/Head.h"
#include "runtime/pipeline/TokenQueue.h"

#include <map>
#include <variant>

namespace sluice::pipeline {

/// Where the head's commands go. Called on the head's thread; must not block.
class HeadLinks {
public:
  virtual ~HeadLinks() = default;
  /// To the first stage.
  virtual Status launch(const StepFrame &frame) = 0;
  /// To the draft.
  virtual Status draft(StepFrame frame) = 0;
  /// To all ranks, out of band. `decided` is now.
  virtual Status cancel(const EpochMark &mark, Time decided) = 0;
  /// For the trace: what the user was told.
  virtual void told(const TokenEvent &token, Time at) = 0;
  virtual void told(const FinishEvent &finish, Time at) = 0;
  /// For the trace; only where the head was made to keep notes.
  virtual void note(const PolicyNote &note, Time at) = 0;
};

/// The thread around the pure Head: waits for events, tells it the time, and
/// sends what it commands. Computes nothing and never waits for anything but
/// the next event. All methods but run() are thread-safe.
class HeadLoop {
public:
  /// `links` outlives the loop.
  HeadLoop(Head head, HeadLinks &links);

  /// Handles events until close(). The thread's body.
  void run();

  void onResults(ResultFrame frame) { door.push(std::move(frame)); }
  void onGuesses(GuessFrame frame) { door.push(std::move(frame)); }
  /// The pipeline is broken: every request ends with this.
  void onFailure(Status failure) { door.push(std::move(failure)); }
  /// `queue` outlives the request. Refusals come as a Failed item.
  void submit(RequestSpec spec, TokenQueue &queue);
  /// The reader of `queue` wants no more tokens.
  void finish(TokenQueue &queue, FinishReason reason);
  void close() { door.close(); }

  /// Of all requests, with what came back of them after their ends. Only after
  /// run() has returned.
  SpeculationCounters counters() const { return head.totals(); }

private:
  struct Submit {
    RequestSpec spec;
    TokenQueue *queue;
  };
  struct Finish {
    TokenQueue *queue;
    FinishReason reason;
  };
  using Event = std::variant<ResultFrame, GuessFrame, Status, Submit, Finish>;

  template <typename Fn> void orFail(Fn &&body);
  void handleEvents(bool &open);
  void handle(Event &event);
  void handleSubmit(Submit &submit);
  void fail(const Status &failure);
  void carryOut();
  Status sendCommands(HeadCommands &commands, Time at);
  void deliver(HeadCommands &commands, Time at);

  Head head;
  HeadLinks &links;
  Door<Event> door{std::numeric_limits<int64_t>::max()};
  std::vector<Event> events;                ///< taken from the door
  std::map<RequestId, TokenQueue *> queues; ///< of requests that go on
  TokenQueue *admitting = nullptr;          ///< of a request not yet in queues
  Status failed;                            ///< the first failure
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_HEADLOOP_H
