//===- PipelineSession.h - the running ranks of a plan --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the ranks of an executable's plan: all of them in this process, or the
// one that MPI has started this process as.
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

/// What a run needs of the pipeline, in addition to its options.
struct PipelineNeeds {
  /// Nullopt: one request at a time.
  std::optional<ServingOptions> serving;
  /// Whether weights are verified again and again while the session serves.
  bool verifiesOn = false;
  /// The tokens that the target will generate, for --oracle-acceptance.
  std::vector<int32_t> truth;
};

/// Not thread-safe.
class PipelineSession {
public:
  /// Returns whether tokens come from a pipeline: there are several ranks or a
  /// draft, or an option needs a pipeline.
  static bool isWanted(const ExecutableDescriptor &executable,
                       const PipelineOptions &options,
                       const std::optional<comm::MpiLaunch> &launch);

  PipelineSession(Engine &engine, const PipelineOptions &options);
  /// Ends a job that still runs. Under MPI this may end the process, so
  /// messages must be written before.
  ~PipelineSession();

  /// Applies the options to the plan. Must be called first, and once. Fails if
  /// the options do not fit the plan, the described cluster or each other; the
  /// error is the same on all ranks, so one of them can report it for all.
  Status settle();

  /// Connects the ranks and agrees with them on the device and the caches. Must
  /// be called once; waits for the other ranks. Fails if MPI fails, the job's
  /// size is not the plan's, the requested device is missing, or a rank differs
  /// from the head. After an error, only abort() may be called.
  Status agree(const std::optional<comm::MpiLaunch> &launch,
               const PipelineNeeds &needs);

  /// Loads and starts the ranks of this process. Must be called once, after
  /// agree(). Fails if loading does. After an error, only abort() may be
  /// called.
  Status open();

  /// Returns whether this process has rank 0. Other processes only call
  /// serve().
  bool isHead() const { return here == 0; }

  /// Serves as a rank other than 0 until the head ends the job. Fails if the
  /// job breaks or this process gets a signal. With `drains`, a signal has no
  /// effect here, because the head gets it as well and decides when the job
  /// ends.
  Status serve(bool drains = false);

  /// Returns the head, which takes requests. Only after open(), on rank 0.
  pipeline::HeadLoop &head() { return ranks.front()->head(); }

  /// Ends all ranks, gathers their reports, and writes the trace if requested.
  /// Only on rank 0. Waits for steps that are being computed.
  Expected<pipeline::PipelineOutcome> shutDown();

  /// Ends all ranks at once, with status 1. Under MPI this may end the process,
  /// so messages must be written before.
  void abort(const Status &reason);

private:
  /// This rank's connections to the other members of its group.
  struct GroupEnd {
    GroupEnd(comm::Communicator &communicator, std::vector<int64_t> ranks)
        : group(communicator, std::move(ranks)), collectives(group) {}
    comm::RankGroup group;
    comm::Collectives collectives;
    std::unique_ptr<comm::NcclGroup> gpus; // null on CPUs
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
  int64_t here = 0;      // the rank of this process, or 0 for all ranks
  int64_t localRank = 0; // among the job's processes on this machine
  cpu::CoreShare cores;  // of the processors that this process may use
  bool severalProcesses = false;
  std::vector<std::unique_ptr<comm::Communicator>> communicators;
  /// Whether rows travel by NCCL; all communicators are then NcclCommunicators.
  bool rowsByNccl = false;
  comm::NcclLibrary nccl; // for ranks with a stage, if it could be opened
  /// [communicator]. Outlive the ranks, whose executors' graphs refer to them.
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

/// Returns the rank's role as a stage, if it has one.
std::optional<RankRole> stageOf(const PlanRank &rank);

/// Returns a description of a rank's roles: "head, draft", "stage 2".
std::string describeRoles(const PlanRank &rank);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_PIPELINESESSION_H
