//===- HeadActor.h - the head, and its users ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Drives the core Scheduler in virtual time: each event costs the head's thread
// a little, one after the other; then its commands go out. Also plays the user:
// requests come at their times, may be cancelled, and their tokens are kept.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_HEADACTOR_H
#define SLUICE_RUNTIME_SIM_HEADACTOR_H

#include "runtime/core/Scheduler.h"
#include "runtime/sim/Invariants.h"
#include "runtime/sim/World.h"

#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

namespace sluice::sim {

/// A request of a run's users.
struct SimRequest {
  ScheduledRequest asked;
  Time arrives{0};
  std::optional<Time> cancelled; ///< by its user, then
};

/// What became of it.
struct RequestOutcome {
  std::vector<int32_t> tokens;
  Time submitted{0}; ///< when it arrived, admitted or not
  Time firstToken{0};
  Time lastToken{0};
  int64_t finishes = 0; ///< one, or something is wrong
  FinishReason reason = FinishReason::Error;
};

class SimHead final : public EventTarget {
public:
  /// Where commands go.
  struct Outputs {
    std::function<void(StepFrame)> launch;
    std::function<void(StepFrame)> draft;
    std::function<void(EpochMark)> cancel; ///< to all ranks
  };
  /// `decision`: what an event costs. Without `deadlines` they are not checked.
  SimHead(World &world, Scheduler scheduler, Time decision, Outputs outputs,
          std::optional<Deadlines> deadlines);
  SimHead(const SimHead &) = delete;
  SimHead &operator=(const SimHead &) = delete;

  /// Schedules the arrivals. Once, before the run.
  void play(std::vector<SimRequest> requests);

  void onResults(ResultFrame frame);
  void onGuesses(GuessFrame frame);
  /// Something is wrong for good: every request ends as an error, also each
  /// that comes later, and nothing is sent any more.
  void onFailure(Status reason);
  void onEvent(uint64_t what) override;

  const Scheduler &core() const { return scheduler; }
  /// Why it has given up, if it has.
  const Status &broken() const { return failed; }
  /// To be called after the run.
  std::vector<RequestOutcome> takeOutcomes() { return std::move(outcomes); }
  /// Frames that brought a part of a prompt and had room for more, but for the
  /// time that a step may take.
  int64_t shortChunks() const { return chunksCutShort; }

private:
  struct Arrival {
    size_t request;
  };
  struct UserCancel {
    size_t request;
  };
  struct Wake {};
  using Event =
      std::variant<ResultFrame, GuessFrame, Arrival, UserCancel, Wake, Status>;
  /// An event, and when it came.
  struct Waiting {
    Event event;
    Time came{0};
  };
  static constexpr uint64_t process = 0, wake = 1, firstTimed = 2;

  void push(Event event);
  void handle(const ResultFrame &frame);
  void handle(const GuessFrame &frame);
  void handle(const Arrival &arrival);
  void handle(const UserCancel &cancel);
  void handle(const Wake &);
  void handle(const Status &reason);
  void refuse(const Event &event);
  void endWithError(size_t request);
  void runCommands();
  void countChunk(const StepFrame &frame);

  World &world;
  Scheduler scheduler;
  Time decision;
  Outputs outputs;

  std::optional<Deadlines> deadlines;
  Status failed;

  std::deque<Waiting> inbox;
  int64_t chunksCutShort = 0;
  Time freeAt{0};
  std::optional<Time> wakeAt;
  std::vector<SimRequest> requests;
  std::vector<RequestOutcome> outcomes;
  std::vector<std::optional<RequestNumber>> numbers; ///< [request]
  std::unordered_map<RequestNumber, size_t> ofNumber;
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_HEADACTOR_H
