//===- NcclArrivals.cpp - messages from the base communicator -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclArrivals.h"

#include <cstring>

using namespace sluice;
using namespace sluice::comm;

bool NcclArrivals::hasRoom(int64_t source) {
  NcclShared::Lock lock(shared.mutex);
  return static_cast<int64_t>(shared.peer(source).data.size()) <
         options.capacity;
}

void NcclArrivals::take(Message message) {
  NcclShared::Lock lock(shared.mutex);
  const int64_t source = message.source;
  if (Status s = read(message); !s.ok()) {
    lock.unlock();
    control.fail(failure("a message from rank ", source, ": ", s.message()));
    return;
  }
  shared.signal();
}

/// Handles one message. Called with the lock held.
Status NcclArrivals::read(Message &message) {
  Expected<NcclEnvelope> envelope =
      NcclEnvelope::open(message.bytes, message.lane);
  if (!envelope)
    return envelope.status();
  NcclPeer &peer = shared.peer(message.source);
  switch (envelope->kind) {
  case Kind::Payload:
    SLUICE_RETURN_IF_ERROR(peer.addPayload(
        message, *envelope, static_cast<uint64_t>(options.ringBytes),
        message.source == shared.self));
    [[fallthrough]];
  case Kind::Message:
    (message.lane == Lane::Data ? peer.data : peer.control)
        .push(std::move(message));
    return {};
  case Kind::Join:
    return readJoin(message, *envelope);
  case Kind::Credit:
    SLUICE_RETURN_IF_ERROR(peer.takeCredit(envelope->first));
    shared.progress.notify_all();
    return {};
  case Kind::Done:
    peer.announceEnd(envelope->first, envelope->second);
    return {};
  case Kind::Broken:
    shared.breakWith(
        Status::error({message.bytes.begin(), message.bytes.end()}));
    return {};
  }
  return {};
}

Status NcclArrivals::readJoin(const Message &message,
                              const NcclEnvelope &envelope) {
  NcclPeer &peer = shared.peer(message.source);
  if (!peer.isWay || peer.id)
    return failure("a way for rows that is not expected");
  if (envelope.second != static_cast<uint64_t>(library.version))
    return failure("it has NCCL ", ncclVersionText(int(envelope.second)),
                   ", and rank ", shared.self, " ",
                   ncclVersionText(library.version));
  if (envelope.first != static_cast<uint64_t>(options.ringBytes))
    return failure("its ring has ", envelope.first, " bytes, and that of rank ",
                   shared.self, " ", options.ringBytes);
  NcclUniqueId id;
  if (message.bytes.size() != sizeof(id.bytes))
    return failure("an NCCL id of ", message.bytes.size(), " bytes");
  std::memcpy(id.bytes, message.bytes.data(), sizeof(id.bytes));
  peer.id = id;
  shared.progress.notify_all();
  return {};
}
