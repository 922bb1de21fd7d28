//===- NcclGroup.cpp - exchanges in a group of GPUs -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclGroup.h"

#include <thread>

using namespace sluice;
using namespace sluice::comm;

constexpr uint64_t greetingBytes = 256;

Expected<NcclUniqueId> comm::makeNcclId(const NcclLibrary &library) {
  NcclUniqueId id;
  SLUICE_RETURN_IF_ERROR(
      library.check("ncclGetUniqueId", library.functions.getUniqueId(&id)));
  return id;
}

Expected<std::unique_ptr<NcclGroup>>
NcclGroup::join(const NcclLibrary &library, cuda::Device &device,
                const NcclUniqueId &id, int member, int members,
                const NcclGroupOptions &options) {
  std::unique_ptr<NcclGroup> group(new NcclGroup(library, device, options));
  SLUICE_RETURN_IF_ERROR(group->link.join(id, members, member, options.blocks));
  SLUICE_RETURN_IF_ERROR(group->connect(Clock::now() + options.setup));
  return group;
}

NcclGroup::~NcclGroup() {
  link.startAbort(device);
  link.awaitAbort(device);
}

/// Sends the first bytes between all members, which set up their connections.
/// That needs both ranks, so it happens here, where one may be late, and not in
/// a step.
Status NcclGroup::connect(Clock::time_point deadline) {
  SLUICE_RETURN_IF_ERROR(link.settle("the set-up of a group", deadline));
  Expected<cuda::Stream> stream = device.makeStream();
  if (!stream)
    return stream.status();
  Expected<cuda::DeviceAddress> room =
      device.allocate(greetingBytes * 2 * static_cast<uint64_t>(members()));
  Status status =
      room ? broken(greet(*room, *stream, deadline)) : room.status();
  // Waits before the memory and the stream are freed: after a failure, NCCL's
  // thread may be about to use them. No graph delays the end of the abort yet.
  if (!status.ok())
    link.awaitAbort(device);
  Status ended = device.settle(*stream, "the set-up of a group");
  if (room)
    device.release(*room);
  device.destroy(*stream);
  return status.ok() ? ended : status;
}

Status NcclGroup::greet(cuda::DeviceAddress room, cuda::Stream stream,
                        Clock::time_point deadline) {
  std::vector<Piece> out, in;
  for (uint64_t other = 0; other < static_cast<uint64_t>(members()); ++other) {
    out.push_back({room + 2 * other * greetingBytes, greetingBytes});
    in.push_back({room + (2 * other + 1) * greetingBytes, greetingBytes});
  }
  Expected<cuda::Event> event = device.makeEvent();
  if (!event)
    return event.status();
  Status status = exchange(out, in, stream);
  if (status.ok())
    status = device.record(*event, stream);
  while (status.ok()) {
    Expected<bool> isDone = device.isDone(*event);
    status = isDone.status();
    if (!isDone || *isDone)
      break;
    status = link.settled().status();
    if (status.ok() && Clock::now() >= deadline)
      status = failure("NCCL: the first bytes between members take too long");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  device.destroy(*event);
  return status;
}

/// Aborts after an error. Graphs of the caller may have captured the group's
/// work.
Status NcclGroup::broken(Status status) {
  if (!status.ok())
    link.startAbort(device);
  return status;
}

Status NcclGroup::check() { return broken(link.settled().status()); }

/// Makes all sends and receives, between ncclGroupStart and ncclGroupEnd.
Status NcclGroup::callAll(std::span<const Piece> out, std::span<const Piece> in,
                          cuda::Stream stream) {
  const NcclFunctions &call = library.functions;
  for (int other = 0; other < members(); ++other) {
    const Piece &give = out[static_cast<size_t>(other)];
    const Piece &get = in[static_cast<size_t>(other)];
    if (other == member())
      continue;
    if (give.bytes > 0)
      SLUICE_RETURN_IF_ERROR(link.check(
          "ncclSend",
          call.send(reinterpret_cast<const void *>(give.address), give.bytes,
                    ncclBytes, other, link.comm(), stream)));
    if (get.bytes > 0)
      SLUICE_RETURN_IF_ERROR(
          link.check("ncclRecv",
                     call.recv(reinterpret_cast<void *>(get.address), get.bytes,
                               ncclBytes, other, link.comm(), stream)));
  }
  return {};
}

/// Exchanges all pieces as one operation, so that they have no order in which
/// members could wait for each other.
Status NcclGroup::exchange(std::span<const Piece> out,
                           std::span<const Piece> in, cuda::Stream stream) {
  SLUICE_RETURN_IF_ERROR(check());
  const NcclFunctions &call = library.functions;
  Status status = link.check("ncclGroupStart", call.groupStart());
  if (!status.ok())
    return broken(status);
  status = callAll(out, in, stream);
  // A group that was started is ended even after an error.
  Status ended = link.check("ncclGroupEnd", call.groupEnd());
  if (status.ok())
    status = ended;
  if (status.ok())
    status =
        link.settle("an exchange in a group", Clock::now() + options.setup);
  return broken(status);
}
