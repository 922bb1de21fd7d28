//===- GpuGroups.h - connecting the members of GPU groups -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_GPUGROUPS_H
#define SLUICE_RUNTIME_ENGINE_GPUGROUPS_H

#include "runtime/comm/Collectives.h"
#include "runtime/comm/nccl/NcclGroup.h"

#include <span>

namespace sluice::engine {

/// A member of a GPU group whose rank is in this process.
struct GpuGroupMember {
  comm::Communicator *communicator = nullptr; ///< of the rank
  comm::Collectives *group = nullptr;         ///< connects the members
  cuda::Device *device = nullptr;
  std::unique_ptr<comm::NcclGroup> gpus = nullptr; ///< null until connected
};

/// Connects all members in this process with the other members of their groups.
/// All ranks of the job must call it, after they have agreed on NCCL
/// (RowTransport.h). The first member of a group makes its NCCL id. After an
/// error, the communicators can only be aborted, which notifies the other
/// processes.
Status connectGpuGroups(std::span<GpuGroupMember> here,
                        const comm::NcclLibrary &library);

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_GPUGROUPS_H
