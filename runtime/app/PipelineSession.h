//===- PipelineSession.h - the ranks of a plan, running -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ranks of an executable's plan, running: all of them in this process, or
// the one that MPI has started it as.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_PIPELINESESSION_H
#define SLUICE_RUNTIME_APP_PIPELINESESSION_H

#include "runtime/app/Engine.h"
#include "runtime/app/GpuGroups.h"
#include "runtime/app/PipelineReport.h"
#include "runtime/app/RowTransport.h"
#include "runtime/app/ServingOptions.h"
#include "runtime/comm/mpi/MpiLaunch.h"
#include "runtime/pipeline/Emulation.h"
#include "runtime/pipeline/RankRuntime.h"

#include <map>

namespace sluice::app {

/// What a run asks of the pipeline beside its options.
struct PipelineNeeds {
  /// None: one request at a time.
  std::optional<ServingOptions> serving;
  /// The weights are verified over and over, as long as the session serves.
  bool verifiesOn = false;
  /// What the target will say, for --oracle-acceptance.
  std::vector<int32_t> truth;
};

/// Thread-compatible.
class PipelineSession {
public:
  /// Whether tokens come from a pipeline: there are several ranks or a draft,
  /// or something is asked for that only a pipeline has.
  static bool isWanted(const ExecutableDescriptor &executable,
                       const PipelineOptions &options,
                       const std::optional<comm::MpiLaunch> &launch);

  PipelineSession(Engine &engine, const PipelineOptions &options);
  /// Ends the job where it is still running; under MPI this process with it, so
  /// say first what is to be said.
  ~PipelineSession();

  /// What was asked for, by this plan; first, and once. Errors: options that do
  /// not fit the plan, the described cluster or each other: the same on all
  /// ranks, so that one of them may say it for all.
  Status settle();

  /// Connects the ranks, and settles with them on what device all compute and
  /// what caches they have; once. Waits for the other ranks. Errors: MPI's; an
  /// MPI job of another size than the plan's; a device that is asked for and
  /// not there; a rank that differs from the head. After an error only abort()
  /// is left.
  Status agree(const std::optional<comm::MpiLaunch> &launch,
               const PipelineNeeds &needs);

  /// Loads the programs of the ranks that are here, and starts them; once,
  /// after agree(). Errors: those of loading. After one only abort() is left.
  Status open();

  /// Whether this process has rank 0; otherwise all it does is serve().
  bool isHead() const { return here == 0; }

  /// Other ranks: until the head ends. Error: what broke the job, such as a
  /// signal that only this process has got; unless the head, which has got it
  /// as well, `drains`: then it says when the end is.
  Status serve(bool drains = false);

  /// Where requests go; only after open(), on rank 0.
  pipeline::HeadLoop &head() { return ranks.front()->head(); }

  /// Rank 0: ends all ranks, gathers what they did, and writes the trace where
  /// one was asked for. Waits for steps that are being computed.
  Expected<pipeline::PipelineOutcome> shutDown();

  /// Ends all ranks at once; they end with status 1. Under MPI this process
  /// ends before or after it returns, so say first what is to be said.
  void abort(const Status &reason);

private:
  /// The end of a group that a rank here is a member of.
  struct GroupEnd {
    GroupEnd(comm::Communicator &communicator, std::vector<int64_t> ranks)
        : group(communicator, std::move(ranks)), collectives(group) {}
    comm::RankGroup group;
    comm::Collectives collectives;
    std::unique_ptr<comm::NcclGroup> gpus; // null: on CPUs
  };

  bool canGuess() const;
  Status settleSpeculation();
  void settleShape();
  Status emulate();
  Status settleDevice();
  void settleServing();
  Status settlePages();
  RankTerms terms();
  Status openTrace();
  Status connect(const std::optional<comm::MpiLaunch> &launch);
  int64_t gpuOf(int64_t rank) const;
  Status settleTransport();
  bool hasGroups() const;
  std::string findRowObstacle() const;
  Expected<std::string> findObstacle();
  Expected<NcclFinding> findNccl(int64_t rank);
  Status connectGpus();
  void joinGroups();
  Status connectGroups();
  void emulateLinks();
  Status makeRanks();
  Expected<pipeline::RankSetup> setUp(size_t end);
  Status loadPart(size_t end, bool isDraft, std::string_view program,
                  GroupEnd *group = nullptr);
  Status makeParts(std::vector<pipeline::RankSetup> &setups);
  Expected<std::shared_ptr<const grammar::TokenTrie>> makeTokenTrie() const;
  std::unique_ptr<pipeline::Guesser> makeGuesser() const;
  PipelineTimes times() const;
  int64_t teamsHere() const;
  CpuTeam teamOfPart() const;

  Engine &engine;
  const ExecutionPlan &plan;
  PipelineOptions options;
  PipelineNeeds needs;
  pipeline::PipelineShape shape;
  pipeline::PipelineSettings settings;
  std::optional<pipeline::Emulation> emulation;
  std::optional<trace::TraceWriter> trace;
  int64_t here = 0;      // the rank of this process, or 0 for all
  int64_t localRank = 0; // of the job's processes on this machine
  cpu::CoreShare cores;  // of the processors that it may run on
  bool severalProcesses = false;
  std::vector<std::unique_ptr<comm::Communicator>> communicators;
  /// Rows travel by it, and all communicators are NcclCommunicators.
  bool rowsByNccl = false;
  comm::NcclLibrary nccl; // of a rank with a stage, where it could be opened
  /// By communicator. Outlive the ranks, whose executors' graphs refer to them.
  std::map<size_t, GroupEnd> groups;
  /// A program that is planned and not made yet.
  struct Part {
    size_t end; // its rank's communicator
    bool isDraft;
    LocalStage stage;
    device::StepLimits limits;
  };
  std::vector<Part> parts;
  std::vector<std::unique_ptr<pipeline::RankRuntime>> ranks;
  std::vector<std::thread> servers; // of the other ranks in this process
};

/// What the rank is of a stage, if it has one.
std::optional<RankRole> stageOf(const PlanRank &rank);

/// "head, draft", "stage 2": what a rank of the plan does.
std::string describeRoles(const PlanRank &rank);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_PIPELINESESSION_H
