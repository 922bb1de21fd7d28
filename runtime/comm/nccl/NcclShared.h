//===- NcclShared.h - what the threads of a rank share --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_NCCLSHARED_H
#define SLUICE_RUNTIME_COMM_NCCL_NCCLSHARED_H

#include "runtime/comm/nccl/NcclPeer.h"

#include <condition_variable>
#include <memory>
#include <string>

namespace sluice::comm {

/// The messages of a rank and how far its job is. `mutex` guards all fields but
/// `self` and the list of peers, which do not change; the methods but peer()
/// are called with it held.
struct NcclShared {
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  NcclShared(int64_t self, int64_t ranks, int64_t ringBytes) : self(self) {
    for (int64_t rank = 0; rank < ranks; ++rank)
      peers.push_back(std::make_unique<NcclPeer>(rank, ringBytes));
  }

  NcclPeer &peer(int64_t rank) { return *peers[static_cast<size_t>(rank)]; }
  /// Makes the thread that calls NCCL look again.
  void signal() {
    changed = true;
    wake.notify_one();
  }
  /// Breaks the job with this error, unless it is broken already.
  void breakWith(Status reason) {
    if (broken.ok())
      broken = std::move(reason);
    progress.notify_all();
    signal();
  }
  /// Returns why nothing can be sent, or success.
  Status stateError() const;
  /// Returns whether all ranks' messages have been taken, and all of this
  /// rank's rows transferred.
  bool allDrained() const;
  /// Returns what finish() still waits for.
  std::string unfinished() const;

  const int64_t self;
  std::mutex mutex;
  std::condition_variable wake;     ///< wakes the thread
  std::condition_variable progress; ///< wakes senders, finish() and setting up
  std::vector<std::unique_ptr<NcclPeer>> peers; ///< by rank
  bool changed = false;                         ///< the thread must look again
  bool isBusy = false;                          ///< a transfer is under way
  bool stopping = false;

  // The end of the job.
  bool finishing = false;
  /// All ranks have taken all messages of this rank.
  bool drained = false;
  /// The base communicator has ended, so the thread closes the edges.
  bool ended = false;
  bool closed = false;

  // The failure of the job.
  Status broken;           ///< the first error, with its rank
  bool baseBroken = false; ///< the base communicator has failed, too
  bool aborted = false;    ///< by this rank's user
  bool reported = false;   ///< the user has got the error
  /// The failure that this rank has found, and when this rank ends the job with
  /// it.
  Status found;
  std::optional<Clock::time_point> endBy;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLSHARED_H
