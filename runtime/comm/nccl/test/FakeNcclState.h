//===- FakeNcclState.h - what the fake NCCL keeps -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_TEST_FAKENCCLSTATE_H
#define SLUICE_RUNTIME_COMM_NCCL_TEST_FAKENCCLSTATE_H

#include "runtime/comm/nccl/test/FakeNccl.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace sluice::comm::test::fake {

struct Sent {
  const void *from = nullptr;
  size_t bytes = 0;
  bool isTaken = false;
};

/// The ranks with one id.
struct FakeWorld {
  int ranks = 0;
  int joined = 0;
  int finalized = 0;
  int departed = 0; ///< ranks that have begun to abort, or are destroyed
  int graphs = 0;   ///< of all ranks
  /// By (from, to).
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Sent>>> channels;
};

struct Operation {
  bool isSend = false;
  void *memory = nullptr;
  size_t bytes = 0;
  int peer = 0;
};

/// What a call has been given, and its stream has not.
struct Launch {
  cuda::Stream stream = nullptr;
  std::vector<Operation> operations;
  uint64_t enteredBefore = 0; ///< work that the stream had got
};

struct Comm {
  std::shared_ptr<FakeWorld> world;
  int rank = 0;
  bool isOver = false; ///< aborted or revoked: what is in streams ends
  bool isJoining = true, isFinalizing = false, isRevoking = false;
  int questions = 0; ///< still to be answered by "in progress"
  int transfers = 0;
  int graphs = 0; ///< pieces of work that are captured, and may run yet
  std::optional<Launch> launch;
  NcclResult error = NcclResult::Success;
  const char *said = "";
};

/// Everything, under one lock.
struct All {
  std::mutex mutex;
  std::condition_variable changed;
  FakeNccl::Faults faults;
  uint64_t ids = 0;
  std::map<std::string, int> calls;
  std::map<uint64_t, std::shared_ptr<FakeWorld>> worlds;
  std::map<NcclComm, std::shared_ptr<Comm>> comms;
  uintptr_t handles = 0;
};

} // namespace sluice::comm::test::fake

#endif // SLUICE_RUNTIME_COMM_NCCL_TEST_FAKENCCLSTATE_H
