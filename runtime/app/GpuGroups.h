//===- GpuGroups.h - the members of groups of GPUs meet -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_GPUGROUPS_H
#define SLUICE_RUNTIME_APP_GPUGROUPS_H

#include "runtime/comm/Collectives.h"
#include "runtime/comm/nccl/NcclGroup.h"

#include <span>

namespace sluice::app {

/// A rank of this process that is a member of a group.
struct GpuGroupMember {
  comm::Communicator *communicator = nullptr; ///< of the rank
  comm::Collectives *group = nullptr;         ///< what connects the members
  cuda::Device *device = nullptr;
  std::unique_ptr<comm::NcclGroup> gpus = nullptr; ///< once they have met
};

/// Lets all members that are here meet those of their groups; all ranks of the
/// job, which have agreed on NCCL (RowTransport.h). The first member of a group
/// makes its id. After an error the communicators can only be aborted, which
/// tells the other processes.
Status connectGpuGroups(std::span<GpuGroupMember> here,
                        const comm::NcclLibrary &library);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_GPUGROUPS_H
