//===- GpuGroups.cpp - connecting the members of GPU groups ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/GpuGroups.h"

#include "runtime/engine/ParallelFor.h"

#include <cstring>

using namespace sluice;
using namespace sluice::engine;

static Expected<comm::NcclUniqueId> shareId(comm::Collectives &group,
                                            const comm::NcclLibrary &library) {
  comm::NcclUniqueId id;
  if (group.member() == 0) {
    Expected<comm::NcclUniqueId> made = comm::makeNcclId(library);
    if (!made)
      return made.status();
    id = *made;
  }
  comm::Bytes bytes(id.bytes, id.bytes + sizeof(id.bytes));
  SLUICE_RETURN_IF_ERROR(group.fromFirst(bytes));
  if (bytes.size() != sizeof(id.bytes))
    return group.fail(failure("the first of the group gives no NCCL id"));
  std::memcpy(id.bytes, bytes.data(), bytes.size());
  return id;
}

static Status joinGroup(GpuGroupMember &member,
                        const comm::NcclLibrary &library) {
  SLUICE_RETURN_IF_ERROR(member.device->enter());
  Expected<comm::NcclUniqueId> id = shareId(*member.group, library);
  if (!id)
    return id.status();
  Expected<std::unique_ptr<comm::NcclGroup>> joined = comm::NcclGroup::join(
      library, *member.device, *id, static_cast<int>(member.group->member()),
      static_cast<int>(member.group->members()));
  if (!joined)
    return joined.status();
  member.gpus = joined.take();
  return {};
}

Status engine::connectGpuGroups(std::span<GpuGroupMember> here,
                                const comm::NcclLibrary &library) {
  return parallelFor(here.size(), [&](size_t i) {
    Status joined = guarded([&] { return joinGroup(here[i], library); });
    // Other members in this process wait for it.
    if (!joined.ok() && here.size() > 1)
      here[i].communicator->abort(joined);
    return joined;
  });
}
