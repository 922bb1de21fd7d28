//===- HeadLoop.h - the head's thread -------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   HeadLoop loop(Scheduler::create(...).take(), links);
//   std::thread thread([&] { loop.run(); });
//   auto queue = std::make_shared<TokenQueue>();
//   loop.submit(request, queue);
//   for (TokenItem item = queue->next(); ...)
//   loop.close(); thread.join();
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_HEADLOOP_H
#define SLUICE_RUNTIME_PIPELINE_HEADLOOP_H

#include "runtime/core/Scheduler.h"
#include "runtime/pipeline/HeadStatus.h"
#include "runtime/pipeline/Mailbox.h"
#include "runtime/pipeline/TokenSink.h"

#include <memory>
#include <mutex>
#include <unordered_map>
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
  /// Receives, for the trace, what is reported to the user.
  virtual void reported(const UserToken &token, Time at) = 0;
  virtual void reported(const UserEnd &end, Time at) = 0;
  /// For the trace; only where the head was made to keep notes.
  virtual void note(const PolicyNote &note, Time at) = 0;
};

/// The thread around the pure Scheduler and Head: waits for events, tells it
/// the time, and sends what it commands. Computes nothing and never waits for
/// anything but the next event. All methods but run() are thread-safe.
class HeadLoop {
public:
  /// `links` outlives the loop.
  HeadLoop(Scheduler scheduler, HeadLinks &links);

  /// Handles events until close(). The thread's body.
  void run();

  void onResults(ResultFrame frame) { mailbox.push(std::move(frame)); }
  void onGuesses(GuessFrame frame) { mailbox.push(std::move(frame)); }
  /// The pipeline is broken: every request ends with this.
  void onFailure(Status failure) { mailbox.push(std::move(failure)); }
  /// The sink, which is of this request alone, is told what becomes of it.
  void submit(ScheduledRequest request, std::shared_ptr<TokenSink> sink);
  /// No more tokens are wanted of the request that was submitted with this
  /// sink; its end comes all the same. Nothing where it has come.
  void finish(const TokenSink &sink, FinishReason reason);
  void close() { mailbox.close(); }

  /// Why the pipeline is broken, if it is.
  Status broken() const;
  /// How things stand, as of the last event.
  HeadStatus status() const;

  /// Of all requests, with what came back of them after their ends. Only after
  /// run() has returned.
  SpeculationCounters counters() const { return scheduler.rows().totals(); }

private:
  struct Submit {
    ScheduledRequest request;
    std::shared_ptr<TokenSink> sink;
  };
  struct Finish {
    const TokenSink *sink;
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
  void deliver(Time at);
  template <typename Fn> void note(Fn &&change);
  void updateStatus(HeadCommands &commands);

  Scheduler scheduler;
  HeadLinks &links;
  Mailbox<Event> mailbox{std::numeric_limits<int64_t>::max()};
  std::vector<Event> events; ///< taken from the mailbox
  /// Of requests that have not ended.
  std::unordered_map<RequestNumber, std::shared_ptr<TokenSink>> sinks;
  std::unordered_map<const TokenSink *, RequestNumber> numbers;
  std::shared_ptr<TokenSink> admitting; ///< of a request without a number yet
  Status failed;                        ///< the first failure

  mutable std::mutex mutex;
  HeadStatus current;     ///< under the mutex
  Status reportedFailure; ///< under the mutex: `failed`, for broken()
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_HEADLOOP_H
