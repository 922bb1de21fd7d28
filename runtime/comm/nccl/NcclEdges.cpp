//===- NcclEdges.cpp - the ways by which rows leave and reach a rank ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclEdges.h"

#include <thread>
#include <utility>

using namespace sluice;
using namespace sluice::comm;

template <typename Call> void NcclEdges::forEach(Call call) {
  for (size_t rank = 0; rank < ends.size(); ++rank)
    for (NcclEdge *edge : {ends[rank].to.get(), ends[rank].from.get()})
      if (edge)
        call(*edge, static_cast<int64_t>(rank));
}

//===----------------------------------------------------------------------===//
// Setting up
//===----------------------------------------------------------------------===//

Status NcclEdges::setUp(const Meeting &meeting) {
  const Clock::time_point deadline = Clock::now() + options.setup;
  if (device)
    SLUICE_RETURN_IF_ERROR(device->enter());
  SLUICE_RETURN_IF_ERROR(makeWaysOut(meeting));
  SLUICE_RETURN_IF_ERROR(makeWaysIn(meeting, deadline));
  SLUICE_RETURN_IF_ERROR(awaitLinks(meeting, deadline));
  return greet(meeting);
}

/// Makes the edges of the ways that begin here. The sender of a way makes its
/// NCCL id.
Status NcclEdges::makeWaysOut(const Meeting &meeting) {
  for (const NcclWay &way : options.ways) {
    if (way.from != self)
      continue;
    Ends &end = ends[static_cast<size_t>(way.to)];
    auto edge = std::make_unique<NcclEdge>(
        library, *device,
        way.to == self ? NcclEdge::Role::Both : NcclEdge::Role::Sender);
    SLUICE_RETURN_IF_ERROR(edge->open(options.ringBytes));
    Expected<cuda::Event> copied = device->makeEvent();
    if (!copied)
      return copied.status();
    end.copied = *copied;
    NcclUniqueId id;
    SLUICE_RETURN_IF_ERROR(
        library.check("ncclGetUniqueId", library.functions.getUniqueId(&id)));
    if (way.to != self)
      SLUICE_RETURN_IF_ERROR(meeting.invite(way.to, id));
    SLUICE_RETURN_IF_ERROR(edge->join(id));
    end.to = std::move(edge);
  }
  return {};
}

Status NcclEdges::makeWaysIn(const Meeting &meeting,
                             Clock::time_point deadline) {
  for (const NcclWay &way : options.ways) {
    if (way.to != self || way.from == self)
      continue;
    Expected<NcclUniqueId> id = meeting.awaitInvitation(way.from, deadline);
    if (!id)
      return id.status();
    auto edge =
        std::make_unique<NcclEdge>(library, *device, NcclEdge::Role::Receiver);
    SLUICE_RETURN_IF_ERROR(edge->open(options.ringBytes));
    SLUICE_RETURN_IF_ERROR(edge->join(*id));
    ends[static_cast<size_t>(way.from)].from = std::move(edge);
  }
  return {};
}

Status NcclEdges::awaitLinks(const Meeting &meeting,
                             Clock::time_point deadline) {
  for (;;) {
    Status status;
    std::optional<int64_t> missing;
    forEach([&](NcclEdge &edge, int64_t other) {
      Expected<bool> settled = edge.nccl().settled();
      if (!settled && status.ok())
        status = settled.status();
      if (settled && !*settled)
        missing = other;
    });
    // A job that is broken is the reason for what goes wrong after it.
    SLUICE_RETURN_IF_ERROR(meeting.pause(Clock::duration(0)));
    if (!status.ok() || !missing)
      return status;
    if (Clock::now() >= deadline)
      return failure("NCCL: rank ", *missing, " has not joined within ",
                     options.setup.count(), " ms");
    SLUICE_RETURN_IF_ERROR(meeting.pause(std::chrono::milliseconds(1)));
  }
}

Status NcclEdges::greet(const Meeting &meeting) {
  forEach([](NcclEdge &edge, int64_t) { edge.greet(); });
  for (bool isUnderWay = true; isUnderWay;) {
    if (Expected<bool> moved = advance(options.setup); !moved)
      return moved.status();
    isUnderWay = isBusy();
    SLUICE_RETURN_IF_ERROR(
        meeting.pause(isUnderWay ? Clock::duration(nap) : Clock::duration(0)));
  }
  forEach([](NcclEdge &edge, int64_t) { edge.greeted(); });
  return {};
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

Status NcclEdges::copyIn(int64_t to, int64_t offset, cuda::DeviceAddress rows,
                         uint64_t bytes, cuda::Stream stream) {
  Ends &end = ends[static_cast<size_t>(to)];
  SLUICE_RETURN_IF_ERROR(
      device->copyOnDevice(end.to->out(offset), rows, bytes, stream));
  SLUICE_RETURN_IF_ERROR(device->record(end.copied, stream));
  for (Clock::time_point begun = Clock::now();;) {
    Expected<bool> isDone = device->isDone(end.copied);
    if (!isDone || *isDone)
      return isDone.status();
    if (Clock::now() - begun < attention)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(nap);
    // Also if the job is broken, since the ring is freed with this object.
    if (Clock::now() - begun > device->options().patience)
      device->giveUp(failure("rows of a step have not been copied in time"));
  }
}

Expected<bool> NcclEdges::advance(Clock::duration patience) {
  Clock::time_point now = Clock::now();
  Status status;
  bool moved = false;
  forEach([&](NcclEdge &edge, int64_t other) {
    Expected<bool> advanced = edge.advance(now, patience);
    if (!advanced && status.ok())
      status = failure("rows between ranks ", self, " and ", other, ": ",
                       advanced.status().message());
    moved |= advanced && *advanced;
  });
  if (!status.ok())
    return status;
  return moved;
}

bool NcclEdges::isBusy() {
  bool busy = false;
  forEach([&](NcclEdge &edge, int64_t) { busy |= edge.busy(); });
  return busy;
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

void NcclEdges::breakOff() {
  forEach([](NcclEdge &edge, int64_t) { edge.breakOff(); });
}

Status NcclEdges::close(Clock::duration patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  Status status;
  // An error of startEnd() is kept, and close() returns it.
  forEach([](NcclEdge &edge, int64_t) { (void)edge.nccl().startEnd(); });
  forEach([&](NcclEdge &edge, int64_t) {
    Status closing = edge.nccl().close(deadline);
    if (status.ok())
      status = closing;
  });
  return status;
}

void NcclEdges::drop() {
  for (Ends &end : ends) {
    end.to.reset();
    end.from.reset();
    if (end.copied)
      device->destroy(std::exchange(end.copied, nullptr));
  }
}
