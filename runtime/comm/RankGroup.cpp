//===- RankGroup.cpp - a group whose members are ranks --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/GroupCommunicator.h"

#include <algorithm>
#include <cassert>

using namespace sluice;
using namespace sluice::comm;

RankGroup::RankGroup(Communicator &communicator, std::vector<int64_t> given)
    : comm(communicator), ranks(std::move(given)) {
  auto place = std::find(ranks.begin(), ranks.end(), comm.rank());
  assert(place != ranks.end() && "this rank is a member");
  self = place - ranks.begin();
}

Status RankGroup::swap(std::span<const std::span<const uint8_t>> out,
                       std::span<const std::span<uint8_t>> in) {
  for (int64_t other = 0; other < members(); ++other) {
    if (other == self || out[other].empty())
      continue;
    Bytes bytes = comm.buffers().take();
    bytes.assign(out[other].begin(), out[other].end());
    SLUICE_RETURN_IF_ERROR(
        comm.send(ranks[other], Lane::Group, std::move(bytes)));
  }
  Bytes bytes;
  for (int64_t other = 0; other < members(); ++other) {
    if (other == self || in[other].empty())
      continue;
    SLUICE_RETURN_IF_ERROR(comm.receive(ranks[other], bytes));
    if (bytes.size() != in[other].size())
      return failure("rank ", ranks[other], " gives rank ", ranks[self],
                     " of its group ", bytes.size(), " bytes, not ",
                     in[other].size());
    std::copy(bytes.begin(), bytes.end(), in[other].begin());
    comm.buffers().give(std::move(bytes));
  }
  return {};
}
