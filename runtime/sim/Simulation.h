//===- Simulation.h - a run in virtual time -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A whole run in virtual time: head, draft and stages on their ranks, joined by
// links. The deciding code is the one that serves (runtime/core); what computes
// is a table of step times, and what is true an oracle. The same configuration
// gives the same run, event for event.
//
//   SimulationConfig config = ...;            // by hand, or SimulationPlan.h
//   Expected<SimulationResult> result = simulate(config);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_SIMULATION_H
#define SLUICE_RUNTIME_SIM_SIMULATION_H

#include "runtime/core/PipelineLimits.h"
#include "runtime/sim/HeadActor.h"
#include "runtime/sim/Oracle.h"
#include "runtime/sim/SimLink.h"
#include "runtime/sim/Worker.h"

#include <string>
#include <vector>

namespace sluice::sim {

/// Where the draft computes. The head is always on rank 0, the draft with it.
enum class SimPlacement : uint8_t {
  None, ///< no draft: rank r has stage r
  Own,  ///< rank 0 has head and draft, rank r stage r - 1
  Head, ///< rank r has stage r, and rank 0 the draft as well
};

struct SimulationConfig {
  /// One for each stage of the target; at least one.
  std::vector<StepModel> stages;
  StepModel draftModel;
  SimPlacement placement = SimPlacement::Own;
  /// links[from * ranks + to]; that from a rank to itself takes no time.
  std::vector<LinkTimes> links;
  /// Bytes of one row's activations between stages.
  int64_t rowBytes = 0;
  /// What each event costs the head's thread.
  Time headDecision{std::chrono::microseconds(20)};
  /// From a frame's arrival until an idle worker's thread takes up what is at
  /// its mailbox.
  Time wakeUp{0};

  HeadLimits head; ///< hasDraft and stages are set by `placement`, `stages`
  SchedulerLimits scheduler;
  SpeculationOptions speculation;
  StageLimits stageLimits; ///< `requests` and `contextLength` as the head's
  StageLimits draftLimits; ///< likewise
  int64_t stagePages = 0; ///< of each stage's cache; 0: enough for every branch
  int64_t draftPages = 0;

  /// Of the oracles.
  uint64_t seed = 1;
  int32_t vocabulary = 32000;
  std::vector<int32_t> outputs; ///< the target's answers, if they are given
  double acceptance = 0;
  Confidence confidence = Confidence::Calibrated;

  std::vector<SimRequest> requests;

  /// Checks after each step of each stage that rows find their own paths in the
  /// cache. Costs time for long contexts.
  bool checkCaches = false;
  /// Whether the invariants of Invariants.h are checked: ArrivalOrder, RowTurns
  /// and Deadlines. Left out only to see what else finds a fault.
  bool checkOrder = true, checkTurns = true, checkDeadlines = true;

  /// Where messages are lost, head.quiet has to be above 0.
  FaultRates faults;
  uint64_t faultSeed = 0;
  /// After which a rank that has died is missed, as of CommunicatorOptions.
  Time silence{std::chrono::milliseconds(3500)};
  /// A run of more events than this hangs.
  uint64_t maxEvents = 100'000'000;

  trace::TraceWriter *trace = nullptr; ///< outlives the run; not finished by it
  bool policyNotes = false;            ///< in the trace

  int64_t ranks() const {
    return static_cast<int64_t>(stages.size()) +
           (placement == SimPlacement::Own);
  }
  int64_t rankOfStage(int64_t stage) const {
    return stage + (placement == SimPlacement::Own);
  }
};

/// Over the time from a mark's decision to the rows having left.
struct LatencySummary {
  int64_t count = 0;
  Time p50{0}, p99{0}, max{0};
};
LatencySummary summarize(std::vector<Time> latencies);

struct StageOutcome {
  int32_t rank = 0;
  std::string role; ///< "stage 3", "draft"
  WorkerCounters work;
  Stage::Counters core;
  LatencySummary cancelLatency;
};

/// What went from one rank to another.
struct HopOutcome {
  int32_t from = 0, to = 0;
  LinkCounters data, control;
};

struct SimulationResult {
  std::vector<RequestOutcome> requests;
  std::vector<StageOutcome> workers; ///< the draft first, then the stages
  std::vector<HopOutcome> hops;      ///< those that carried anything
  SpeculationCounters speculation;   ///< of all requests
  int64_t preemptions = 0;           ///< of requests, each time
  int64_t prefixWaits = 0;           ///< for prefixes, each time
  int64_t foundTokens = 0; ///< of prompts, that were in the cache already
  int64_t shortChunks = 0; ///< as SimHead
  /// Of a run that broke off: what the head was told. All requests that had not
  /// ended by then have ended as errors.
  Status broken;
  Breaks breaks; ///< why
  Time end{0};   ///< when the last event happened
  uint64_t events = 0;

  /// Of the first request: from its arrival to its first token, prompt
  /// included.
  double ttftSeconds() const;
  /// Tokens after the first, by the time from the first to the last; over all
  /// requests. 0 where there are too few.
  double tokensPerSecond() const;
};

/// Sets the limits of stages and draft, pages included, and the head's frames
/// in flight, that follow from the rest: those of what serves.
void setLimits(SimulationConfig &config);

/// What the head is told to expect: the times of the configuration's tables.
PipelineTimes predictedTimes(const SimulationConfig &config);

/// Runs until nothing happens any more, and checks what must hold of any run:
/// each request has ended exactly once; its tokens are the target's, and all of
/// them unless its user cancelled, its time was over or the run broke off; it
/// breaks off if and only if a message was lost or came twice or a rank died;
/// otherwise head and stages hold nothing at the end; and all the time the
/// invariants of Invariants.h. Errors: one of these does not hold, an actor
/// refused an event, or the configuration is not complete.
Expected<SimulationResult> simulate(const SimulationConfig &config);

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_SIMULATION_H
