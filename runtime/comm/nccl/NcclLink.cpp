//===- NcclLink.cpp - one nonblocking NCCL communicator -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclLink.h"

#include <cassert>
#include <thread>

using namespace sluice;
using namespace sluice::comm;

Status NcclLink::check(const char *call, NcclResult result) {
  if (broken.ok())
    broken = library.check(call, result, handle);
  return broken;
}

Status NcclLink::join(const NcclUniqueId &id, int ranks, int rank, int blocks) {
  assert(!handle && "join() is called once");
  size = ranks;
  self = rank;
  NcclConfig config;
  config.blocking = 0;
  // A transfer may wait for the other side: it must not keep multiprocessors
  // from the step that is computed meanwhile.
  config.minBlocks = 1;
  config.maxBlocks = blocks;
  return check(
      "ncclCommInitRankConfig",
      library.functions.commInitRankConfig(&handle, ranks, id, rank, &config));
}

Expected<bool> NcclLink::settled() {
  if (!broken.ok())
    return broken;
  NcclResult state = NcclResult::Success;
  NcclResult asked = library.functions.commGetAsyncError(handle, &state);
  if (Status s = check("ncclCommGetAsyncError", asked); !s.ok())
    return s;
  if (Status s = check("an operation", state); !s.ok())
    return s;
  return state == NcclResult::Success;
}

Status NcclLink::settle(const char *what, Clock::time_point deadline) {
  for (;;) {
    Expected<bool> done = settled();
    if (!done || *done)
      return done.status();
    if (Clock::now() >= deadline)
      return broken = failure("NCCL: ", what, " takes too long");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void NcclLink::breakOff() {
  NcclComm gone = std::exchange(handle, nullptr);
  if (!gone)
    return;
  if (broken.ok())
    broken = failure("NCCL: broken off");
  // Whatever they say: there is nothing left to be done.
  if (library.functions.commRevoke)
    (void)library.functions.commRevoke(gone, 0);
  (void)library.functions.commAbort(gone);
}

Status NcclLink::startEnd() {
  if (!handle)
    return broken;
  return check("ncclCommFinalize", library.functions.commFinalize(handle));
}

Status NcclLink::close(Clock::time_point deadline) {
  Status status = broken;
  if (status.ok())
    status = settle("the end", deadline);
  if (!status.ok()) {
    breakOff();
    return status;
  }
  status = check("ncclCommDestroy", library.functions.commDestroy(handle));
  handle = nullptr;
  return status;
}
