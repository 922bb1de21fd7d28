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
//   while (std::optional<RequestEvent> event = queue->next(deadline)) ...
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

/// Receives the head's commands. Called on the head's thread; must not block.
class HeadLinks {
public:
  virtual ~HeadLinks() = default;
  /// Sends a frame to the first stage.
  virtual Status launch(const StepFrame &frame) = 0;
  /// Sends a frame to the draft.
  virtual Status draft(StepFrame frame) = 0;
  /// Sends a cancel to all ranks, out of band. `decided` is the present time.
  virtual Status cancel(const EpochMark &mark, Time decided) = 0;
  /// Receives, for the trace, what is reported to users.
  virtual void reported(const TokenEvent &token, Time at) = 0;
  virtual void reported(const RequestEnd &end, Time at) = 0;
  /// Receives notes for the trace, if the head was created to keep them.
  virtual void note(const PolicyNote &note, Time at) = 0;
};

/// The thread around the pure Scheduler and Head: it waits for events, passes
/// them and the time in, and sends the commands that come out. It computes
/// nothing and waits only for the next event. All methods but run() and poll()
/// are thread-safe.
class HeadLoop {
public:
  /// `links` must outlive the loop.
  HeadLoop(Scheduler scheduler, HeadLinks &links);

  /// Handles events until close(). The body of the head's thread.
  void run();
  /// Handles the events that have come, without waiting: for callers that have
  /// no thread for run(), always from the same thread.
  void poll();

  void onResults(ResultFrame frame) { mailbox.push(std::move(frame)); }
  void onGuesses(GuessFrame frame) { mailbox.push(std::move(frame)); }
  /// Breaks the pipeline: every request ends with `failure`.
  void onFailure(Status failure) { mailbox.push(std::move(failure)); }
  /// Submits a request. `sink`, which must be of this request alone, receives
  /// its tokens and its end.
  void submit(ScheduledRequest request, std::shared_ptr<TokenSink> sink);
  /// Ends the request that was submitted with this sink. Its end is still
  /// reported. Does nothing if that has happened already.
  void finish(const TokenSink &sink, FinishReason reason);
  void close() { mailbox.close(); }

  /// Returns why the pipeline is broken, or success.
  Status broken() const;
  /// Returns the status as of the last event.
  HeadStatus status() const;

  /// Returns the counters of all requests, including results after their ends.
  /// Must be called after run() has returned.
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
  std::optional<Time> nextWake();
  bool takeEvents(std::optional<Time> wake);
  void handleEvents(std::optional<Time> wake);
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
  /// The sinks of requests that have not ended.
  std::unordered_map<RequestNumber, std::shared_ptr<TokenSink>> sinks;
  std::unordered_map<const TokenSink *, RequestNumber> numbers;
  /// The sink of a request without a number yet.
  std::shared_ptr<TokenSink> admitting;
  Status failed; ///< the first failure

  mutable std::mutex mutex;
  HeadStatus current;     ///< guarded by the mutex
  Status reportedFailure; ///< `failed`, for broken(); guarded by the mutex
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_HEADLOOP_H
