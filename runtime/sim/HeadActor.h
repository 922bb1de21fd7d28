//===- HeadActor.h - the simulated head and its users ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Drives the core Scheduler in virtual time: each event takes the head's thread
// a little time, one after the other, and then its commands are sent. Also
// plays the users: requests arrive at their times, may be cancelled, and their
// tokens are kept.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_HEADACTOR_H
#define SLUICE_RUNTIME_SIM_HEADACTOR_H

#include "runtime/core/Scheduler.h"
#include "runtime/sim/FairShares.h"
#include "runtime/sim/Invariants.h"
#include "runtime/sim/World.h"

#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

namespace sluice::sim {

/// A request of one of the run's users.
struct SimRequest {
  ScheduledRequest asked;
  Time arrives{0};
  std::optional<Time> cancelled; ///< when its user cancels it
};

/// The outcome of a request.
struct RequestOutcome {
  std::vector<int32_t> tokens;
  Time submitted{0}; ///< when it arrived, admitted or not
  Time firstToken{0};
  Time lastToken{0};
  int64_t finishes = 0; ///< exactly one in a correct run
  FinishReason reason = FinishReason::Error;
};

class SimHead final : public EventTarget {
public:
  /// Receives the head's commands.
  struct Outputs {
    std::function<void(StepFrame)> launch;
    std::function<void(StepFrame)> draft;
    std::function<void(EpochMark)> cancel; ///< to all ranks
  };
  /// What is checked during the run.
  struct Checks {
    std::optional<Deadlines> deadlines;
    std::optional<FairShares> shares;
  };
  /// `decision` is the time that each event takes.
  SimHead(World &world, Scheduler scheduler, Time decision, Outputs outputs,
          Checks checks);
  SimHead(const SimHead &) = delete;
  SimHead &operator=(const SimHead &) = delete;

  /// Schedules the arrivals. Must be called once, before the run.
  void play(std::vector<SimRequest> requests);

  void onResults(ResultFrame frame);
  void onGuesses(GuessFrame frame);
  /// Breaks the pipeline: every request, also each later one, ends as an error,
  /// and nothing is sent any more.
  void onFailure(Status reason);
  void onEvent(uint64_t what) override;

  const Scheduler &core() const { return scheduler; }
  /// Returns why the head has given up, or success.
  const Status &broken() const { return failed; }
  /// Returns the outcomes. Must be called after the run.
  std::vector<RequestOutcome> takeOutcomes() { return std::move(outcomes); }
  /// Returns how many frames carried a part of a prompt and had room for more
  /// rows, but were cut short by the time that a step may take.
  int64_t shortChunks() const { return chunksCutShort; }
  /// As FairShares::worst(); 0 if shares are not checked.
  double worstShare() const {
    return checks.shares ? checks.shares->worst() : 0;
  }

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
  /// An event and its arrival time.
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

  Checks checks;
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
