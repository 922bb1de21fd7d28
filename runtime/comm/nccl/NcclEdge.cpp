//===- NcclEdge.cpp - one end of a way between two GPUs -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclEdge.h"

using namespace sluice;
using namespace sluice::comm;

// In a communicator of two ranks, the sender is rank 0.
constexpr int senderRank = 0, receiverRank = 1;

NcclEdge::~NcclEdge() {
  // Work in the stream uses the memory until the abort has reached it.
  breakOff();
  if (stream)
    (void)device.settle(stream, "a transfer that has been broken off");
  if (finished)
    device.destroy(finished);
  if (stream)
    device.destroy(stream);
  if (receiveRing)
    device.release(receiveRing);
  if (sendRing)
    device.release(sendRing);
}

Status NcclEdge::open(int64_t ringBytes) {
  auto allocate = [&](cuda::DeviceAddress &ring) -> Status {
    Expected<cuda::DeviceAddress> memory =
        device.allocate(static_cast<uint64_t>(ringBytes));
    if (!memory)
      return failure(ringBytes, " bytes for rows between stages: ",
                     memory.status().message());
    ring = *memory;
    return {};
  };
  if (role != Role::Receiver)
    SLUICE_RETURN_IF_ERROR(allocate(sendRing));
  if (role != Role::Sender)
    SLUICE_RETURN_IF_ERROR(allocate(receiveRing));
  // The stream has priority over the computation of a step, since another rank
  // waits for its few blocks.
  Expected<cuda::Stream> made = device.makeStream(/*highPriority=*/true);
  if (!made)
    return made.status();
  stream = *made;
  Expected<cuda::Event> event = device.makeEvent();
  if (!event)
    return event.status();
  finished = *event;
  return {};
}

Status NcclEdge::join(const NcclUniqueId &id) {
  return role == Role::Both
             ? link.join(id, 1, 0)
             : link.join(id, 2,
                         role == Role::Sender ? senderRank : receiverRank);
}

Status NcclEdge::post(const NcclTransfer &transfer) {
  auto count = static_cast<size_t>(transfer.bytes);
  bool isBoth = role == Role::Both;
  const NcclFunctions &call = library.functions;
  // A rank sends to itself by one operation; a send of its own would wait for
  // the receive.
  if (isBoth)
    SLUICE_RETURN_IF_ERROR(link.check("ncclGroupStart", call.groupStart()));
  Status status;
  if (role != Role::Receiver)
    status = link.check(
        "ncclSend",
        call.send(reinterpret_cast<const void *>(out(transfer.offset)), count,
                  ncclBytes, isBoth ? 0 : receiverRank, link.comm(), stream));
  if (role != Role::Sender && status.ok())
    status = link.check("ncclRecv",
                        call.recv(reinterpret_cast<void *>(in(transfer.offset)),
                                  count, ncclBytes, senderRank, link.comm(),
                                  stream));
  // A group that was started is ended even after an error.
  if (isBoth)
    SLUICE_RETURN_IF_ERROR(link.check("ncclGroupEnd", call.groupEnd()));
  return status;
}

Expected<bool> NcclEdge::advance(Clock::time_point now,
                                 Clock::duration patience) {
  bool moved = false;
  if (state == State::Idle && !orders.empty()) {
    begun = now;
    SLUICE_RETURN_IF_ERROR(post(orders.front()));
    state = State::Posting;
    moved = true;
  }
  // Polled also if no transfer is under way, since it may report that the other
  // rank has ended.
  Expected<bool> settled = link.settled();
  if (!settled)
    return settled.status();
  if (state == State::Posting && *settled) {
    SLUICE_RETURN_IF_ERROR(device.record(finished, stream));
    state = State::Running;
    moved = true;
  }
  if (state == State::Running) {
    Expected<bool> isDone = device.isDone(finished);
    if (!isDone)
      return isDone.status();
    if (*isDone) {
      orders.pop();
      ++done;
      state = State::Idle;
      return true;
    }
  }
  if (state != State::Idle && now - begun >= patience)
    return failure(
        "a transfer of ", orders.front().bytes, " bytes has not ",
        state == State::Posting ? "begun" : "ended", " within ",
        std::chrono::milliseconds(
            std::chrono::duration_cast<std::chrono::milliseconds>(patience))
            .count(),
        " ms");
  return moved;
}
