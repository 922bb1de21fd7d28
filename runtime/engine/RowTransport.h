//===- RowTransport.h - transport of rows between GPUs --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses how rows travel between stages on GPUs: from device memory to device
// memory by NCCL if every stage has its own GPU, and through the hosts' memory
// otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_ROWTRANSPORT_H
#define SLUICE_RUNTIME_ENGINE_ROWTRANSPORT_H

#include "runtime/comm/nccl/NcclCommunicator.h"

#include <span>
#include <string>
#include <vector>

namespace sluice::engine {

/// What a rank needs for NCCL.
struct NcclFinding {
  bool hasStage = false; ///< if not, the other fields do not matter
  int32_t version = 0;   ///< of libnccl
  std::string gpu;       ///< cuda::DeviceProperties::identity
  std::string why;       ///< why it cannot use NCCL, one line; or empty
};

/// Returns why these ranks, given in order, cannot use NCCL between their
/// stages, in one line; empty if they can.
std::string ncclObstacle(std::span<const NcclFinding> ranks);

/// Like ncclObstacle(), for the ranks of a job: all ranks must call it, as the
/// functions of RankAgreement.h, and get the same answer.
Expected<std::string> agreeOnNccl(comm::Communicator &comm,
                                  const NcclFinding &own);

/// Returns the size of a ring, at each end of a way, for messages up to this
/// size.
int64_t ringBytesOf(int64_t messageBytes);

/// Connects the ranks of this process, given in order, by NCCL; all ranks of
/// the job must call it. `devices` has the GPU of each rank, or null.
/// `messageBytes` is the size of the longest message's rows. After an error,
/// the communicators can only be aborted, which notifies the other processes.
Status
connectByNccl(std::vector<std::unique_ptr<comm::Communicator>> &communicators,
              const comm::NcclLibrary &library,
              std::span<cuda::Device *const> devices, comm::NcclOptions options,
              int64_t messageBytes);

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_ROWTRANSPORT_H
