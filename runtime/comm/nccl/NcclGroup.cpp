//===- NcclGroup.cpp - collectives of a group of GPUs ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclGroup.h"

#include <algorithm>
#include <thread>

using namespace sluice;
using namespace sluice::comm;

/// Shares begin at multiples of so many floats: 256 bytes.
constexpr uint64_t shareStep = 64;

constexpr uint64_t greetingBytes = 256;

Expected<NcclUniqueId> comm::makeNcclId(const NcclLibrary &library) {
  NcclUniqueId id;
  if (Status s =
          library.check("ncclGetUniqueId", library.functions.getUniqueId(&id));
      !s.ok())
    return s;
  return id;
}

Expected<std::unique_ptr<NcclGroup>>
NcclGroup::join(const NcclLibrary &library, cuda::Device &device,
                const NcclUniqueId &id, int member, int members,
                const NcclGroupOptions &options) {
  std::unique_ptr<NcclGroup> group(new NcclGroup(library, device, options));
  if (Status s = group->link.join(id, members, member, options.blocks); !s.ok())
    return s;
  group->out.resize(static_cast<size_t>(members));
  group->in.resize(static_cast<size_t>(members));
  group->parts.resize(static_cast<size_t>(members));
  if (Status s = group->meet(Clock::now() + options.setup); !s.ok())
    return s;
  return group;
}

NcclGroup::~NcclGroup() {
  link.breakOffOn(device);
  while (!underWay.empty())
    device.destroy(underWay.pop());
  for (cuda::Event event : spare)
    device.destroy(event);
}

/// The first bytes between two ranks set their connection up, which needs both
/// of them: here, where they may be late, and not in a step.
Status NcclGroup::meet(Clock::time_point deadline) {
  if (Status s = link.settle("the meeting of a group", deadline); !s.ok())
    return s;
  Expected<cuda::Stream> stream = device.makeStream();
  if (!stream)
    return stream.status();
  Expected<cuda::DeviceAddress> room =
      device.allocate(greetingBytes * 2 * static_cast<uint64_t>(members()));
  Status status =
      room ? broken(greet(*room, *stream, deadline)) : room.status();
  // Before the memory goes, also where the group has been broken off.
  Status ended = device.synchronize(*stream);
  if (room)
    device.release(*room);
  device.destroy(*stream);
  return status.ok() ? ended : status;
}

Status NcclGroup::greet(cuda::DeviceAddress room, cuda::Stream stream,
                        Clock::time_point deadline) {
  for (size_t other = 0; other < out.size(); ++other) {
    out[other] = {room + 2 * other * greetingBytes, greetingBytes};
    in[other] = {room + (2 * other + 1) * greetingBytes, greetingBytes};
  }
  if (Status s = exchange(out, in, stream, deadline); !s.ok())
    return s;
  while (Clock::now() < deadline) {
    Expected<bool> isDone = device.isDone(underWay.front());
    if (!isDone || *isDone)
      return isDone.status();
    if (Expected<bool> settled = link.settled(); !settled)
      return settled.status();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return failure("NCCL: the first bytes between members take too long");
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
    link.breakOffOn(device);
  return status;
}

Status NcclGroup::check() {
  Status status = link.settled().status();
  return broken(status.ok() ? lookAtCalls() : status);
}

Status NcclGroup::lookAtCalls() {
  Clock::time_point now = Clock::now();
  for (; !underWay.empty(); lastEnd = now) {
    Expected<bool> isDone = device.isDone(underWay.front());
    if (!isDone)
      return isDone.status();
    if (!*isDone)
      break;
    spare.push_back(underWay.pop());
  }
  if (underWay.empty() || now - lastEnd < options.patience)
    return {};
  return failure("NCCL: a call of member ", member(),
                 " of a group has not ended within ", options.patience.count(),
                 " ms");
}

/// The call is in the stream.
Status NcclGroup::noteCall(cuda::Stream stream) {
  if (spare.empty()) {
    Expected<cuda::Event> made = device.makeEvent();
    if (!made)
      return made.status();
    spare.push_back(*made);
  }
  if (Status s = device.record(spare.back(), stream); !s.ok())
    return s;
  if (underWay.empty())
    lastEnd = Clock::now();
  underWay.push(spare.back());
  spare.pop_back();
  return {};
}

Status NcclGroup::end() {
  Status status = check();
  if (status.ok())
    status = link.startEnd();
  return status.ok() ? link.close(Clock::now() + options.setup)
                     : broken(status);
}

/// Everyone gives everyone else a piece, as one operation: no order among them
/// in which they could wait for each other.
Status NcclGroup::exchange(std::span<const Piece> out,
                           std::span<const Piece> in, cuda::Stream stream,
                           Clock::time_point deadline) {
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
    status = link.settle("an exchange in a group", deadline);
  if (status.ok())
    status = noteCall(stream);
  return broken(status);
}

Status NcclGroup::allReduce(cuda::DeviceAddress x, uint64_t floats,
                            cuda::DeviceAddress scratch, const SumParts &sum,
                            cuda::Stream stream) {
  Clock::time_point deadline = Clock::now() + options.patience;
  Piece mine = share(x, floats, member());
  for (int other = 0; other < members(); ++other) {
    auto at = static_cast<size_t>(other);
    out[at] = share(x, floats, other);
    in[at] = {scratch + 4 * shareFloats(floats) * at, mine.bytes};
    parts[at] = other == member() ? mine.address : in[at].address;
  }
  if (Status s = exchange(out, in, stream, deadline); !s.ok())
    return s;
  if (mine.bytes > 0)
    if (Status s = sum(mine.address, parts, mine.bytes / 4, stream); !s.ok())
      return broken(s);
  in.swap(out); // the others' shares, whole now
  std::ranges::fill(out, mine);
  return exchange(out, in, stream, deadline);
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
    status =
        link.settle("a gathering in a group", Clock::now() + options.patience);
  if (status.ok())
    status = noteCall(stream);
  return broken(status);
}
