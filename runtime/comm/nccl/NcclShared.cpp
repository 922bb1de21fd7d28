//===- NcclShared.cpp - what the threads of a rank share ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclShared.h"

#include <sstream>

using namespace sluice;
using namespace sluice::comm;

Status NcclShared::stateError() const {
  if (!broken.ok())
    return broken;
  if (finishing)
    return failure("rank ", self, ": sends after its end");
  return {};
}

bool NcclShared::allDrained() const {
  for (const std::unique_ptr<NcclPeer> &peer : peers)
    if (!peer->drained() || !peer->sendOrders.empty())
      return false;
  return !isBusy;
}

std::string NcclShared::unfinished() const {
  std::ostringstream text;
  const char *separator = "";
  for (const std::unique_ptr<NcclPeer> &peer : peers) {
    if (peer->drained())
      continue;
    text << separator << "rank " << peer->sent.to;
    if (!peer->isDone())
      text << " still works";
    else
      text << " has sent what has not been taken";
    separator = "; ";
  }
  return text.str();
}
