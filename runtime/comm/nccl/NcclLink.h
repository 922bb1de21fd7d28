//===- NcclLink.h - one nonblocking NCCL communicator ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   NcclLink link(library);
//   Status s = link.join(id, 2, 0);             // starts to
//   while (Expected<bool> joined = link.settled(); joined && !*joined) ...
//   s = link.check("ncclSend", library.functions.send(..., link.comm(), ...));
//   while (Expected<bool> posted = link.settled(); posted && !*posted) ...
//
// No call of a nonblocking communicator waits for another rank. What is under
// way when a call returns is asked for by settled(), and until it says so
// neither another call of the communicator nor other work for its stream may
// follow.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_NCCLLINK_H
#define SLUICE_RUNTIME_COMM_NCCL_NCCLLINK_H

#include "runtime/comm/nccl/NcclLibrary.h"

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>

namespace sluice::comm {

/// One NCCL communicator. One thread at a time, but for giveUp(). Keeps its
/// first error, which is then the answer to everything. Destroying it breaks it
/// off, unless close() has succeeded: the other ranks may or may not notice.
/// One that graphs have captured work of is ended by startAbort() and
/// awaitAbort() alone.
class NcclLink {
public:
  using Clock = std::chrono::steady_clock;

  explicit NcclLink(const NcclLibrary &library) : library(library) {}
  ~NcclLink() { breakOff(); }
  NcclLink(const NcclLink &) = delete;
  NcclLink &operator=(const NcclLink &) = delete;

  /// Starts to join; all `ranks` must. The current device becomes the rank's.
  /// `blocks`: multiprocessors that its kernels take at most.
  Status join(const NcclUniqueId &id, int ranks, int rank, int blocks = 1);

  NcclComm comm() const { return handle; }
  int ranks() const { return size; }
  int rank() const { return self; }

  /// Whether all that has been called is done, as far as calls are: operations
  /// are in their streams then. Errors: NCCL's, also one of another rank that
  /// it has found.
  Expected<bool> settled();
  /// The same, asked until it is true, at most until `deadline`: first in the
  /// processor, then with naps. `what` is said where it is not: "NCCL: the end
  /// takes too long".
  Status settle(const char *what, Clock::time_point deadline);

  /// Thread-safe: somebody has heard that a rank is lost. From now on the
  /// answer is `reason`, also for who waits in settle().
  void giveUp(const Status &reason);

  /// The call's error, if it is one.
  Status check(const char *call, NcclResult result);

  /// Ends what is in its streams and frees it, without other ranks. Nothing
  /// where there is nothing.
  void breakOff();
  /// The same for a communicator of that device, before it is destroyed. Where
  /// the device has been given up, NCCL would wait for it, and is not asked;
  /// the process does not end in order then.
  void breakOffOn(const cuda::Device &device) {
    if (device.isGivenUp())
      handle = nullptr;
    breakOff();
  }

  /// Ends what is in its streams and in graphs, now and whenever they are
  /// launched again, without other ranks. Returns at once: ncclCommAbort
  /// returns when all graphs are destroyed that have captured its work, which
  /// are the calling thread's; so it is called on another one. The communicator
  /// is not revoked before. That would switch the aborting off again, so that
  /// the next exchange of a graph waits for ever, and NCCL would free the
  /// communicator without waiting for graphs. For a given up device, as
  /// breakOffOn(); one is given up where no thread is to be had.
  void startAbort(cuda::Device &device);
  /// When these graphs are destroyed, also those of other ranks in this
  /// process: waits for startAbort()'s end. Gives `device` up where NCCL does
  /// not come to it within the device's patience, and does not wait for what a
  /// given up device of this process may keep from ending.
  void awaitAbort(cuda::Device &device);

  /// The good end, when all ranks have done all: each starts it for all of its
  /// communicators, since an end waits for the other ranks', then closes them.
  Status startEnd();
  /// Waits until `deadline`. Breaks off after an error.
  Status close(Clock::time_point deadline);

private:
  NcclLibrary library;
  NcclComm handle = nullptr;
  int size = 0;
  int self = 0;
  Status broken;

  std::atomic<bool> givenUp{false}; ///< set, with release, behind `reason`
  std::mutex mutex;                 ///< guards the first giveUp()
  Status reason;

  std::thread aborting;
  std::future<void> aborted;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLLINK_H
