//===- NcclGroup.cpp - collectives of a group of GPUs ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclGroup.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::comm;

/// Shares begin at multiples of so many floats: 256 bytes.
constexpr uint64_t shareStep = 64;

Expected<NcclUniqueId> comm::makeNcclId(const NcclLibrary &library) {
  NcclUniqueId id;
  if (Status s =
          library.check("ncclGetUniqueId", library.functions.getUniqueId(&id));
      !s.ok())
    return s;
  return id;
}

Expected<std::unique_ptr<NcclGroup>>
NcclGroup::join(const NcclLibrary &library, const NcclUniqueId &id, int member,
                int members, const NcclGroupOptions &options) {
  std::unique_ptr<NcclGroup> group(new NcclGroup(library, options));
  if (Status s = group->link.join(id, members, member, options.blocks); !s.ok())
    return s;
  auto deadline = NcclLink::Clock::now() + options.setup;
  if (Status s = group->link.settle("the meeting of a group", deadline);
      !s.ok())
    return s;
  group->out.resize(static_cast<size_t>(members));
  group->in.resize(static_cast<size_t>(members));
  group->parts.resize(static_cast<size_t>(members));
  return group;
}

uint64_t NcclGroup::shareFloats(uint64_t floats) const {
  auto count = static_cast<uint64_t>(members());
  uint64_t each = floats / count + (floats % count != 0);
  return (each + shareStep - 1) / shareStep * shareStep;
}

/// The last ones may be shorter, or empty.
NcclGroup::Piece NcclGroup::share(cuda::DeviceAddress x, uint64_t floats,
                                  int member) const {
  uint64_t each = shareFloats(floats);
  uint64_t begin = std::min(floats, each * static_cast<uint64_t>(member));
  uint64_t length = std::min(each, floats - begin);
  return {x + 4 * begin, 4 * length};
}

Status NcclGroup::broken(Status status) {
  if (!status.ok())
    link.breakOff();
  return status;
}

Status NcclGroup::check() { return broken(link.settled().status()); }

/// Everyone gives everyone else a piece, as one operation: no order among them
/// in which they could wait for each other.
Status NcclGroup::exchange(std::span<const Piece> out,
                           std::span<const Piece> in, cuda::Stream stream) {
  if (Status s = check(); !s.ok())
    return s;
  const NcclFunctions &call = library.functions;
  Status status = link.check("ncclGroupStart", call.groupStart());
  if (!status.ok())
    return broken(status);
  for (int other = 0; other < members() && status.ok(); ++other) {
    const Piece &give = out[static_cast<size_t>(other)];
    const Piece &get = in[static_cast<size_t>(other)];
    if (other == member())
      continue;
    if (give.bytes > 0)
      status = link.check(
          "ncclSend",
          call.send(reinterpret_cast<const void *>(give.address), give.bytes,
                    ncclBytes, other, link.comm(), stream));
    if (get.bytes > 0 && status.ok())
      status =
          link.check("ncclRecv",
                     call.recv(reinterpret_cast<void *>(get.address), get.bytes,
                               ncclBytes, other, link.comm(), stream));
  }
  // A group that has been begun is ended, whatever is in it.
  Status ended = link.check("ncclGroupEnd", call.groupEnd());
  if (status.ok())
    status = ended;
  if (status.ok())
    status = link.settle("an exchange in a group",
                         NcclLink::Clock::now() + options.patience);
  return broken(status);
}

Status NcclGroup::allReduce(cuda::DeviceAddress x, uint64_t floats,
                            cuda::DeviceAddress scratch, const SumParts &sum,
                            cuda::Stream stream) {
  Piece mine = share(x, floats, member());
  for (int other = 0; other < members(); ++other) {
    auto at = static_cast<size_t>(other);
    out[at] = share(x, floats, other);
    in[at] = {scratch + 4 * shareFloats(floats) * at, mine.bytes};
    parts[at] = other == member() ? mine.address : in[at].address;
  }
  if (Status s = exchange(out, in, stream); !s.ok())
    return s;
  if (mine.bytes > 0)
    if (Status s = sum(mine.address, parts, mine.bytes / 4, stream); !s.ok())
      return broken(s);
  in.swap(out); // the others' shares, whole now
  std::ranges::fill(out, mine);
  return exchange(out, in, stream);
}

Status NcclGroup::allGather(cuda::DeviceAddress from, cuda::DeviceAddress to,
                            uint64_t bytes, cuda::Stream stream) {
  if (Status s = check(); !s.ok())
    return s;
  Status status = link.check(
      "ncclAllGather",
      library.functions.allGather(reinterpret_cast<const void *>(from),
                                  reinterpret_cast<void *>(to), bytes,
                                  ncclBytes, link.comm(), stream));
  if (status.ok())
    status = link.settle("a gathering in a group",
                         NcclLink::Clock::now() + options.patience);
  return broken(status);
}
