//===- SessionLinks.h - the connections between a session's ranks ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_SESSIONLINKS_H
#define SLUICE_RUNTIME_ENGINE_SESSIONLINKS_H

#include "runtime/comm/mpi/MpiLaunch.h"
#include "runtime/engine/GpuGroups.h"
#include "runtime/engine/PipelineConfig.h"
#include "runtime/engine/RowTransport.h"

#include <map>

namespace sluice::engine {

/// This rank's connections to the other members of its group.
struct GroupLinks {
  GroupLinks(comm::Communicator &communicator, std::vector<int64_t> ranks)
      : group(communicator, std::move(ranks)), collectives(group) {}
  comm::RankGroup group;
  comm::Collectives collectives;
  std::unique_ptr<comm::NcclGroup> gpus; ///< null on CPUs
};

/// Connects the ranks of this process, all of the plan's or one, with the
/// others: by messages, and where they have GPUs by NCCL. Not thread-safe.
class SessionLinks {
public:
  /// Both must outlive the links.
  SessionLinks(Engine &engine, const PipelineConfig &config)
      : engine(engine), config(config) {}

  /// Makes the communicators. Must be called first; waits for the other ranks.
  /// Fails if MPI fails or the job's size is not the plan's.
  Status connect(const std::optional<comm::MpiLaunch> &launch);
  /// Chooses how rows travel between the stages, in agreement with all ranks,
  /// once they agree on the device. Fails if the chosen way is not available.
  Status settleTransport();
  /// Gives the communicators the links of the described machines, if there are
  /// any.
  void emulate();
  /// Connects GPUs and the members of groups. Must be called before programs
  /// are loaded, which use the remaining memory.
  Status connectDevices();

  /// The communicators of the ranks of this process, in the order of the ranks.
  std::span<const std::unique_ptr<comm::Communicator>> ends() const {
    return communicators;
  }
  /// The rank of this process, or 0 if it has all ranks.
  int64_t here() const { return ownRank; }
  /// The number of this process among the job's processes on this machine.
  int64_t localRank() const { return rankOnMachine; }
  bool severalProcesses() const { return isJob; }
  /// Returns the GPU of a rank. Ranks on one machine share its GPUs by their
  /// order there.
  int64_t gpuOf(int64_t rank) const { return isJob ? rankOnMachine : rank; }
  /// Returns the links of `ends()[end]` to the other members of its group; null
  /// if its rank is in no group.
  GroupLinks *groupOf(size_t end);
  /// Returns the communicator by which the rows of `ends()[end]` travel from
  /// device to device; null if they do not.
  comm::NcclCommunicator *deviceRowsOf(size_t end) const;

private:
  bool hasGroups() const;
  std::string findRowObstacle() const;
  Expected<std::string> findObstacle();
  Expected<NcclFinding> findNccl(int64_t rank);
  Status connectGpus();
  void joinGroups();
  Status connectGroups();

  Engine &engine;
  const PipelineConfig &config;
  int64_t ownRank = 0;
  int64_t rankOnMachine = 0;
  bool isJob = false;
  std::vector<std::unique_ptr<comm::Communicator>> communicators;
  /// Whether rows travel by NCCL; all communicators are then NcclCommunicators.
  bool rowsByNccl = false;
  comm::NcclLibrary nccl; ///< for ranks with a stage, if it could be opened
  /// [communicator]. Outlive the ranks, whose executors' graphs refer to them.
  std::map<size_t, GroupLinks> groups;
};

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_SESSIONLINKS_H
