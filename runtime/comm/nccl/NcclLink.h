//===- NcclLink.h - one nonblocking NCCL communicator ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Owns a nonblocking NCCL communicator, and polls it:
//
//   NcclLink link(library);
//   Status s = link.join(id, 2, 0);             // starts to join
//   while (Expected<bool> joined = link.settled(); joined && !*joined) ...
//   s = link.check("ncclSend", library.functions.send(..., link.comm(), ...));
//   while (Expected<bool> posted = link.settled(); posted && !*posted) ...
//
// No call of a nonblocking communicator waits for another rank. Work may still
// be in progress when a call returns. Until settled() returns true, neither
// another call of the communicator nor other work for its stream may follow.
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

/// Owns one NCCL communicator. Used by one thread at a time, except for
/// giveUp(). Keeps its first error, which every later call returns. Its
/// destructor breaks the communicator off unless close() has succeeded; the
/// other ranks may or may not notice. A communicator whose work graphs have
/// captured may only be ended by startAbort() and awaitAbort().
class NcclLink {
public:
  using Clock = std::chrono::steady_clock;

  explicit NcclLink(const NcclLibrary &library) : library(library) {}
  ~NcclLink() { breakOff(); }
  NcclLink(const NcclLink &) = delete;
  NcclLink &operator=(const NcclLink &) = delete;

  /// Starts to join the communicator; all `ranks` ranks must call it. The
  /// current device becomes the rank's device. `blocks` is the most
  /// multiprocessors that the communicator's kernels use.
  Status join(const NcclUniqueId &id, int ranks, int rank, int blocks = 1);

  NcclComm comm() const { return handle; }
  int ranks() const { return size; }
  int rank() const { return self; }

  /// Returns whether all calls are complete, so that their operations are in
  /// their streams. Errors: NCCL's, also an error of another rank that NCCL has
  /// noticed.
  Expected<bool> settled();
  /// Polls settled() until it returns true, at most until `deadline`: first it
  /// spins, then it sleeps between polls. The error after `deadline` is "NCCL:
  /// `what` takes too long".
  Status settle(const char *what, Clock::time_point deadline);

  /// Thread-safe. Says that a rank is lost: from now on every call returns
  /// `reason`, also a settle() that is waiting.
  void giveUp(const Status &reason);

  /// Returns the error of a call, if `result` is one.
  Status check(const char *call, NcclResult result);

  /// Aborts what is in the communicator's streams and frees the communicator,
  /// without waiting for other ranks. Does nothing if there is no communicator.
  void breakOff();
  /// Like breakOff(), for a communicator of `device`, before the device is
  /// destroyed. If the device has been given up, NCCL would wait for it, so the
  /// communicator is leaked; the process then does not end in order.
  void breakOffOn(const cuda::Device &device) {
    if (device.isGivenUp())
      handle = nullptr;
    breakOff();
  }

  /// Aborts the communicator's work in streams and in graphs, now and whenever
  /// such a graph is launched again, without waiting for other ranks. Returns
  /// at once and calls ncclCommAbort on another thread: that function returns
  /// only after all graphs that have captured the communicator's work are
  /// destroyed, which the calling thread does.
  ///
  /// The communicator is not revoked first. Revoking would switch the abort off
  /// again, so the next exchange of a graph would wait for ever, and NCCL would
  /// free the communicator without waiting for graphs. A device that has been
  /// given up is handled as by breakOffOn(). If no thread can be started,
  /// `device` is given up.
  void startAbort(cuda::Device &device);
  /// Waits for the end of startAbort(), after these graphs are destroyed,
  /// including those of other ranks in this process. Gives `device` up if NCCL
  /// does not end within the device's patience. Waits only a moment if a device
  /// of this process has been given up, since that may keep the abort from
  /// ending.
  void awaitAbort(cuda::Device &device);

  /// Starts to end the communicator in order, after all ranks have done all
  /// their work. An end waits for the other ranks, so each rank first calls
  /// startEnd() for all of its communicators and then close() for each.
  Status startEnd();
  /// Waits for the end, at most until `deadline`. Breaks off after an error.
  Status close(Clock::time_point deadline);

private:
  NcclLibrary library;
  NcclComm handle = nullptr;
  int size = 0;
  int self = 0;
  Status broken;

  /// Stored with release order after `reason` is set.
  std::atomic<bool> givenUp{false};
  std::mutex mutex; ///< guards the first giveUp()
  Status reason;

  std::thread aborting;
  std::future<void> aborted;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLLINK_H
