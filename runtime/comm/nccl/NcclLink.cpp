//===- NcclLink.cpp - one nonblocking NCCL communicator -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclLink.h"

#include "runtime/base/Guarded.h"

#include <cassert>

using namespace sluice;
using namespace sluice::comm;

/// How long settle() polls without sleeping, and how long it then sleeps
/// between two polls. Most calls complete within microseconds, and a step has
/// many.
constexpr std::chrono::microseconds attention{500};
constexpr std::chrono::microseconds nap{50};

/// How long breakOff() waits for revoked operations before it aborts.
constexpr std::chrono::milliseconds revokePatience{200};

/// How long awaitAbort() waits if a device that has been given up may keep the
/// abort from ending.
constexpr std::chrono::milliseconds givenUpPatience{1000};

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
  // A transfer may wait for its peer, and must not take multiprocessors from
  // the step that is computed meanwhile.
  config.minBlocks = 1;
  config.maxBlocks = blocks;
  return check(
      "ncclCommInitRankConfig",
      library.functions.commInitRankConfig(&handle, ranks, id, rank, &config));
}

Expected<bool> NcclLink::settled() {
  if (broken.ok() && givenUp.load(std::memory_order_acquire))
    broken = reason;
  if (!broken.ok())
    return broken;
  NcclResult state = NcclResult::Success;
  NcclResult asked = library.functions.commGetAsyncError(handle, &state);
  SLUICE_RETURN_IF_ERROR(check("ncclCommGetAsyncError", asked));
  SLUICE_RETURN_IF_ERROR(check("an operation", state));
  return state == NcclResult::Success;
}

Status NcclLink::settle(const char *what, Clock::time_point deadline) {
  Clock::time_point begun = Clock::now();
  for (;;) {
    Expected<bool> done = settled();
    if (!done || *done)
      return done.status();
    Clock::time_point now = Clock::now();
    if (now >= deadline)
      return broken = failure("NCCL: ", what, " takes too long");
    if (now - begun < attention)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(nap);
  }
}

void NcclLink::giveUp(const Status &given) {
  std::lock_guard lock(mutex);
  if (givenUp.load(std::memory_order_relaxed))
    return;
  reason = given;
  givenUp.store(true, std::memory_order_release);
}

void NcclLink::breakOff() {
  NcclComm gone = std::exchange(handle, nullptr);
  if (!gone)
    return;
  if (broken.ok())
    broken = failure("NCCL: broken off");
  // The results are ignored: nothing else could be done.
  if (library.functions.commRevoke) {
    (void)library.functions.commRevoke(gone, 0);
    NcclResult state = NcclResult::InProgress;
    for (Clock::time_point until = Clock::now() + revokePatience;
         library.functions.commGetAsyncError(gone, &state) ==
             NcclResult::Success &&
         state == NcclResult::InProgress && Clock::now() < until;)
      std::this_thread::sleep_for(nap);
  }
  (void)library.functions.commAbort(gone);
}

void NcclLink::startAbort(cuda::Device &device) {
  NcclComm gone = std::exchange(handle, nullptr);
  if (!gone)
    return;
  if (broken.ok())
    broken = failure("NCCL: broken off");
  if (device.isGivenUp())
    return;
  Status started = guarded([&] {
    std::promise<void> done;
    aborted = done.get_future();
    // The thread may outlive this object, and refers to no part of it.
    aborting = std::thread([abort = library.functions.commAbort, gone,
                            done = std::move(done)]() mutable {
      (void)abort(gone);
      done.set_value();
    });
    return Status();
  });
  // Only giving the device up ends what it waits for now.
  if (!started.ok())
    device.giveUp(started.withContext("NCCL: no thread to abort with"));
}

void NcclLink::awaitAbort(cuda::Device &device) {
  if (!aborting.joinable())
    return;
  const Clock::time_point begun = Clock::now();
  const auto patience = device.options().patience;
  while (aborted.wait_for(std::chrono::milliseconds(1)) !=
         std::future_status::ready) {
    const Clock::duration waited = Clock::now() - begun;
    if (waited > patience)
      device.giveUp(failure("NCCL: ncclCommAbort does not end"));
    if (cuda::Device::anyGivenUp() && waited > givenUpPatience)
      return aborting.detach();
  }
  aborting.join();
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
