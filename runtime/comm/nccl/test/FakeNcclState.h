//===- FakeNcclState.h - the state of the fake NCCL -----------------------===//
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

/// The ranks that share one id.
struct FakeWorld {
  int ranks = 0;
  int joined = 0;
  int finalized = 0;
  int departed = 0; ///< ranks that have begun to abort, or are destroyed
  int graphs = 0;   ///< of all ranks
  /// The sends that were offered, by (from, to).
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Sent>>> channels;
};

struct Operation {
  bool isSend = false;
  void *memory = nullptr;
  size_t bytes = 0;
  int peer = 0;
};

/// Work that a call was given and that is not in its stream yet.
struct Launch {
  cuda::Stream stream = nullptr;
  std::vector<Operation> operations;
  /// How much work the stream had been given before.
  uint64_t enteredBefore = 0;
};

struct Comm {
  std::shared_ptr<FakeWorld> world;
  int rank = 0;
  bool isOver = false; ///< aborted or revoked: work in streams ends
  bool isJoining = true, isFinalizing = false, isRevoking = false;
  int questions = 0; ///< how many polls are still answered by "in progress"
  int transfers = 0;
  int graphs = 0; ///< captured pieces of work that may still run
  std::optional<Launch> launch;
  NcclResult error = NcclResult::Success;
  const char *said = "";
};

/// The whole state, guarded by one lock.
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
