//===- NcclArrivals.cpp - messages from the base communicator -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclRank.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::comm;

void NcclRank::arrive(Message message) {
  Lock lock(mutex);
  if (Status s = read(message); !s.ok()) {
    lock.unlock();
    fail(failure("a message from rank ", message.source, ": ", s.message()));
    return;
  }
  signal();
}

/// Handles one message. Called with the lock held.
Status NcclRank::read(Message &message) {
  Expected<NcclEnvelope> envelope =
      NcclEnvelope::open(message.bytes, message.lane);
  if (!envelope)
    return envelope.status();
  Peer &peer = *peers[static_cast<size_t>(message.source)];
  switch (envelope->kind) {
  case Kind::Payload:
    SLUICE_RETURN_IF_ERROR(readPayload(message, *envelope));
    [[fallthrough]];
  case Kind::Message:
    (message.lane == Lane::Data ? peer.data : peer.control)
        .push(std::move(message));
    return {};
  case Kind::Join:
    return readJoin(message, *envelope);
  case Kind::Credit:
    return readCredit(peer, *envelope);
  case Kind::Done:
    peer.done = true;
    peer.dataAnnounced = envelope->first;
    peer.controlAnnounced = envelope->second;
    return {};
  case Kind::Broken:
    if (broken.ok())
      broken = Status::error({message.bytes.begin(), message.bytes.end()});
    progress.notify_all();
    return {};
  }
  return {};
}

Status NcclRank::readPayload(Message &message, const NcclEnvelope &envelope) {
  Peer &peer = *peers[static_cast<size_t>(message.source)];
  auto ring = static_cast<uint64_t>(options.ringBytes);
  if (!peer.isWay)
    return failure("rows, but it is no way for them");
  if (envelope.first >= ring || envelope.second == 0 ||
      envelope.second > ring - envelope.first)
    return failure(envelope.second, " bytes of rows at ", envelope.first,
                   " of a ring of ", ring);
  NcclTransfer transfer{static_cast<int64_t>(envelope.first),
                        static_cast<int64_t>(envelope.second)};
  // The address holds an offset until the thread gives the message to the
  // receiver.
  message.payload = {envelope.first, transfer.bytes, message.source,
                     peer.rowsArrived++};
  // For a message to this rank itself, the order of the sender does both sides.
  if (message.source != self)
    peer.receiveOrders.push(transfer);
  return {};
}

Status NcclRank::readJoin(const Message &message,
                          const NcclEnvelope &envelope) {
  Peer &peer = *peers[static_cast<size_t>(message.source)];
  if (!peer.isWay || peer.id)
    return failure("a way for rows that is not expected");
  if (envelope.second != static_cast<uint64_t>(library.version))
    return failure("it has NCCL ", ncclVersionText(int(envelope.second)),
                   ", and rank ", self, " ", ncclVersionText(library.version));
  if (envelope.first != static_cast<uint64_t>(options.ringBytes))
    return failure("its ring has ", envelope.first, " bytes, and that of rank ",
                   self, " ", options.ringBytes);
  NcclUniqueId id;
  if (message.bytes.size() != sizeof(id.bytes))
    return failure("an NCCL id of ", message.bytes.size(), " bytes");
  std::memcpy(id.bytes, message.bytes.data(), sizeof(id.bytes));
  peer.id = id;
  progress.notify_all();
  return {};
}

Status NcclRank::readCredit(Peer &peer, const NcclEnvelope &envelope) {
  if (envelope.first > peer.rowsSent)
    return failure("gives back ", envelope.first, " of ", peer.rowsSent);
  // Credits that two threads send may overtake each other.
  for (; peer.rowsBack < envelope.first; ++peer.rowsBack)
    peer.room.giveOldest();
  progress.notify_all();
  return {};
}

void NcclRank::giveBack(const DevicePayload &payload) {
  Lock lock(mutex);
  Peer &peer = *peers[static_cast<size_t>(payload.source)];
  uint64_t before = peer.rowsGivenBack;
  // A payload that comes before older ones waits for them; there are few of
  // these.
  peer.givenBackEarly.push_back(payload.number);
  std::vector<uint64_t> &early = peer.givenBackEarly;
  for (auto next = early.begin();
       (next = std::find(early.begin(), early.end(), peer.rowsGivenBack)) !=
       early.end();
       ++peer.rowsGivenBack)
    early.erase(next);
  uint64_t after = peer.rowsGivenBack;
  // Once everything is drained, no sender waits for room.
  if (after == before || drained || !broken.ok())
    return;
  lock.unlock();
  Status sent = sendControl(payload.source, Kind::Credit, after, 0);
  lock.lock();
  bool isLate = drained;
  lock.unlock();
  if (!sent.ok() && !isLate)
    fail(sent);
}
