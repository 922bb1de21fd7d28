//===- NcclPeer.cpp - the messages between this rank and another ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclPeer.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::comm;

Status NcclPeer::addPayload(Message &message, const NcclEnvelope &envelope,
                            uint64_t ringBytes, bool isSelf) {
  if (!isWay)
    return failure("rows, but it is no way for them");
  if (envelope.first >= ringBytes || envelope.second == 0 ||
      envelope.second > ringBytes - envelope.first)
    return failure(envelope.second, " bytes of rows at ", envelope.first,
                   " of a ring of ", ringBytes);
  const NcclTransfer transfer{static_cast<int64_t>(envelope.first),
                              static_cast<int64_t>(envelope.second)};
  message.payload = {envelope.first, transfer.bytes, message.source,
                     rowsArrived++};
  if (!isSelf)
    receiveOrders.push(transfer);
  return {};
}

Status NcclPeer::takeCredit(uint64_t count) {
  if (count > rowsSent)
    return failure("gives back ", count, " of ", rowsSent);
  // Credits that two threads send may overtake each other.
  for (; rowsBack < count; ++rowsBack)
    room.giveOldest();
  return {};
}

std::optional<uint64_t> NcclPeer::giveBack(uint64_t number) {
  const uint64_t before = rowsGivenBack;
  // A payload that comes before older ones waits for them; there are few of
  // these.
  givenBackEarly.push_back(number);
  for (auto next = givenBackEarly.begin();
       (next = std::ranges::find(givenBackEarly, rowsGivenBack)) !=
       givenBackEarly.end();
       ++rowsGivenBack)
    givenBackEarly.erase(next);
  return rowsGivenBack == before ? std::nullopt : std::optional(rowsGivenBack);
}

void NcclPeer::announceEnd(uint64_t dataMessages, uint64_t controlMessages) {
  done = true;
  dataAnnounced = dataMessages;
  controlAnnounced = controlMessages;
}
