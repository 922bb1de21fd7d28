//===- Simulation.h - a run in virtual time -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simulates a whole run in virtual time: head, draft and stages on their ranks,
// joined by links. The deciding code is that of the real runtime
// (runtime/core); tables of step times replace computing, and an oracle
// replaces the models. The same configuration gives the same run, event for
// event.
//
//   SimulationConfig config = ...;            // by hand, or SimulationPlan.h
//   Expected<SimulationResult> result = simulate(config);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_SIMULATION_H
#define SLUICE_RUNTIME_SIM_SIMULATION_H

#include "runtime/core/PipelineLimits.h"
#include "runtime/oracle/Oracle.h"
#include "runtime/sim/HeadActor.h"
#include "runtime/sim/SimLink.h"
#include "runtime/sim/Worker.h"

#include <string>
#include <vector>

namespace sluice::sim {

/// The rank layout. Head and draft are always on rank 0.
enum class SimPlacement : uint8_t {
  None, ///< no draft: rank r has stage r
  Own,  ///< rank 0 has head and draft, rank r has stage r - 1
  Head, ///< rank r has stage r, and rank 0 the head and the draft as well
};

struct SimulationConfig {
  /// The step times of each stage of the target; at least one stage.
  std::vector<StepModel> stages;
  StepModel draftModel;
  SimPlacement placement = SimPlacement::Own;
  /// links[from * ranks + to]; a link from a rank to itself takes no time.
  std::vector<LinkTimes> links;
  /// The size of one row's activations between stages, in bytes.
  int64_t rowBytes = 0;
  /// How long the head's thread takes for each event.
  Time headDecision{std::chrono::microseconds(20)};
  /// How long an idle worker's thread takes from a frame's arrival to looking
  /// into its mailbox.
  Time wakeUp{0};

  HeadLimits head; ///< `placement` and `stages` set hasDraft and stages
  SchedulerLimits scheduler;
  SpeculationOptions speculation;
  StageLimits stageLimits; ///< `requests` and `contextLength` are the head's
  StageLimits draftLimits; ///< likewise
  /// Pages of each stage's cache; 0: enough for all branches.
  int64_t stagePages = 0;
  int64_t draftPages = 0;

  /// The parameters of the oracles.
  uint64_t seed = 1;
  int32_t vocabulary = 32000;
  /// The target's answers, if they are prescribed.
  std::vector<int32_t> outputs;
  double acceptance = 0;
  OracleConfidence confidence = OracleConfidence::Calibrated;

  std::vector<SimRequest> requests;

  /// Whether to check after each step of each stage that rows find their own
  /// paths in the cache. Takes time for long contexts.
  bool checkCaches = false;
  /// Whether to check the invariants of Invariants.h: ArrivalOrder, RowTurns
  /// and Deadlines. They are switched off only to see which other checks find a
  /// fault.
  bool checkOrder = true, checkTurns = true, checkDeadlines = true;
  /// Whether to check the shares of tenants (FairShares.h). That needs a cache
  /// with room for all that runs, and requests that wait for no prefix of
  /// others.
  bool checkShares = false;

  /// If messages are lost, head.quiet must be above 0.
  FaultRates faults;
  uint64_t faultSeed = 0;
  /// How long after its death a rank is missed, as in CommunicatorOptions.
  Time silence{std::chrono::milliseconds(3500)};
  /// A run with more events than this fails, because it seems to hang.
  uint64_t maxEvents = 100'000'000;

  /// Must outlive the run, which does not finish it.
  trace::TraceWriter *trace = nullptr;
  bool policyNotes = false; ///< whether the trace has the policy's decisions

  int64_t ranks() const {
    return static_cast<int64_t>(stages.size()) +
           (placement == SimPlacement::Own);
  }
  int64_t rankOfStage(int64_t stage) const {
    return stage + (placement == SimPlacement::Own);
  }
};

/// Percentiles of the time from a mark's decision to the departure of its rows.
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

/// The traffic from one rank to another.
struct HopOutcome {
  int32_t from = 0, to = 0;
  LinkCounters data, control;
};

struct SimulationResult {
  std::vector<RequestOutcome> requests;
  std::vector<StageOutcome> workers; ///< the draft first, then the stages
  std::vector<HopOutcome> hops;      ///< hops that carried anything
  SpeculationCounters speculation;   ///< sum over all requests
  int64_t preemptions = 0;           ///< how often a request was preempted
  int64_t prefixWaits = 0; ///< how often a request waited for a prefix
  int64_t foundTokens = 0; ///< tokens of prompts that were found in the cache
  int64_t shortChunks = 0; ///< as in SimHead
  double worstShare = 0;   ///< as in SimHead
  /// Why the run broke off, as the head was told. All requests that had not
  /// ended by then have ended as errors.
  Status broken;
  Breaks breaks; ///< the faults that broke it off
  Time end{0};   ///< when the last event happened
  uint64_t events = 0;

  /// Returns the time from the first request's arrival to its first token, with
  /// its prompt.
  double ttftSeconds() const;
  /// Returns the number of tokens after the first, divided by the time from the
  /// first to the last, over all requests; 0 if there are too few.
  double tokensPerSecond() const;
};

/// Sets the limits that follow from the rest, as the server does: those of the
/// stages and the draft with their pages, and the head's frames in flight.
void setLimits(SimulationConfig &config);

/// Returns the times that the head expects, from the configuration's tables.
PipelineTimes predictedTimes(const SimulationConfig &config);

/// Runs until no events are left, and checks what must hold for any run: Each
/// request has ended exactly once. Its tokens are the target's, and it has all
/// of them unless its user cancelled it, its time was over or the run broke
/// off. The run breaks off if and only if a message was lost or came twice or a
/// rank died; otherwise head and stages hold nothing at the end. The invariants
/// of Invariants.h hold all the time. Fails if one of these does not hold, if
/// an actor refused an event, or if the configuration is incomplete.
Expected<SimulationResult> simulate(const SimulationConfig &config);

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_SIMULATION_H
