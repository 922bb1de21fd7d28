//===- NcclPeer.h - the messages between this rank and another ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_NCCLPEER_H
#define SLUICE_RUNTIME_COMM_NCCL_NCCLPEER_H

#include "runtime/comm/nccl/MirrorRing.h"
#include "runtime/comm/nccl/NcclEdge.h"
#include "runtime/comm/nccl/NcclEnvelope.h"

#include <mutex>
#include <optional>
#include <vector>

namespace sluice::comm {

/// The state for one rank, or for this rank itself: what was sent to it and
/// what has come from it. Not thread-safe; NcclShared::mutex guards all but
/// `sending`.
struct NcclPeer {
  NcclPeer(int64_t rank, int64_t ringBytes) : room(ringBytes) {
    sent.to = rank;
  }

  // What is sent to it.
  /// Held during one sendRows(); locked before NcclShared::mutex.
  std::mutex sending;
  MirrorRing room;
  Ring<NcclTransfer> sendOrders;
  Traffic sent;
  /// Messages with rows that were sent.
  uint64_t rowsSent = 0;

  // What comes from it.
  bool isWay = false; ///< rows come from it
  std::optional<NcclUniqueId> id;
  Ring<Message> control, data;
  Ring<NcclTransfer> receiveOrders;
  uint64_t dataTaken = 0, controlTaken = 0;

  /// Takes a message with rows: gives it its payload, and orders its transfer
  /// unless `isSelf`, where the order of the sender does both sides. The
  /// payload's address holds an offset until the message is delivered.
  Status addPayload(Message &message, const NcclEnvelope &envelope,
                    uint64_t ringBytes, bool isSelf);
  /// Frees the room of the first `count` messages with rows.
  Status takeCredit(uint64_t count);
  /// Notes that a payload was given back. Returns how many have been given back
  /// without gaps, if that number has changed.
  std::optional<uint64_t> giveBack(uint64_t number);
  /// Notes that the rank sends no more, and how many messages it has sent.
  void announceEnd(uint64_t dataMessages, uint64_t controlMessages);

  /// Returns whether the rank sends no more.
  bool isDone() const { return done; }
  /// Returns whether the rank sends no more and everything has been taken.
  bool drained() const {
    return done && dataTaken == dataAnnounced &&
           controlTaken == controlAnnounced;
  }

private:
  uint64_t rowsBack = 0; ///< of rowsSent, those that came back
  uint64_t rowsArrived = 0, rowsGivenBack = 0;
  /// The numbers of payloads that were given back before older ones.
  std::vector<uint64_t> givenBackEarly;
  bool done = false;
  uint64_t dataAnnounced = 0, controlAnnounced = 0;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLPEER_H
