//===- RowTransport.h - how rows travel between GPUs ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between stages on GPUs, rows travel from memory to memory by NCCL where every
// stage has a GPU of its own, and through the hosts' memory elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_ROWTRANSPORT_H
#define SLUICE_RUNTIME_APP_ROWTRANSPORT_H

#include "runtime/comm/nccl/NcclCommunicator.h"

#include <span>
#include <string>
#include <vector>

namespace sluice::app {

/// What a rank has for NCCL.
struct NcclFinding {
  bool hasStage = false; ///< else nothing more is asked of it
  int32_t version = 0;   ///< of libnccl
  std::string gpu;       ///< cuda::DeviceProperties::identity
  std::string why;       ///< it cannot, one line; empty: it can
};

/// Why these ranks, in their order, cannot use NCCL between their stages; one
/// line, or empty: they can.
std::string ncclObstacle(std::span<const NcclFinding> ranks);

/// The same for the ranks of a job, as RankAgreement.h's functions: all ranks
/// call it, and get one answer.
Expected<std::string> agreeOnNccl(comm::Communicator &comm,
                                  const NcclFinding &own);

/// Of a way, at each of its ends, where the longest message has so many bytes.
int64_t ringBytesOf(int64_t messageBytes);

/// Puts NCCL onto the communicators of the ranks that are here, in their order;
/// all ranks of the job. `devices` has the GPU of each, or null.
/// `messageBytes`: the rows of the longest message. After an error the
/// communicators can only be aborted, which tells the other processes.
Status
connectByNccl(std::vector<std::unique_ptr<comm::Communicator>> &communicators,
              const comm::NcclLibrary &library,
              std::span<cuda::Device *const> devices, comm::NcclOptions options,
              int64_t messageBytes);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_ROWTRANSPORT_H
