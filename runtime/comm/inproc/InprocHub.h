//===- InprocHub.h - the message queues between threads -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_INPROC_INPROCHUB_H
#define SLUICE_RUNTIME_COMM_INPROC_INPROCHUB_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/Ring.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace sluice::comm {

/// Holds the queues between all ranks of a job in one process. One lock guards
/// all of them, since under it only a few pointers are moved. Callbacks are
/// called without the lock. Thread-safe.
class InprocHub {
public:
  InprocHub(int64_t size, const CommunicatorOptions &options);

  int64_t size() const { return static_cast<int64_t>(inboxes.size()); }

  Status send(int64_t from, int64_t to, Lane lane, Bytes bytes);
  Status receive(int64_t rank, int64_t source, Bytes &bytes, Deadline end);
  void stopReceiving(int64_t rank);
  Status finish(int64_t rank, std::chrono::milliseconds patience);
  void abort(int64_t rank, const Status &reason);
  /// Says that `rank` leaves: the job is broken unless it has ended.
  void leave(int64_t rank);
  void roomChanged(int64_t rank);
  std::vector<Traffic> traffic(int64_t rank) const;

  /// Calls the receiver of `rank`, on the thread of that rank, until stop().
  void deliver(int64_t rank, const Communicator::Receiver &receiver);
  void stop(int64_t rank);

  BufferPool buffers;

private:
  struct Inbox {
    std::vector<Ring<Message>> data, control, group; ///< by source
    /// The number of messages in `group`, by source. receive() polls it for a
    /// moment before it sleeps. It is changed under the lock, which also orders
    /// the messages themselves.
    std::vector<std::atomic<size_t>> groupWaiting;
    std::vector<Traffic> sent; ///< by the rank that the message was sent to
    /// The delivering thread must look at the queues again.
    bool changed = false;
    bool stopping = false;
    /// False after stopReceiving().
    bool receives = true;
    bool finishing = false;
    bool failureReported = false;
    int64_t nextSource = 0; ///< the source whose data is looked at first
    std::condition_variable wake, room, groupCame;
  };

  using Lock = std::unique_lock<std::mutex>;

  Status pushBounded(Lock &lock, Inbox &inbox, Ring<Message> &queue,
                     Message message);
  Status sendError(int64_t from, int64_t to, const Bytes &bytes) const;
  void breakJob(int64_t rank, const Status &reason);
  void signal(Inbox &inbox);
  std::optional<Message> popControl(Inbox &inbox);
  std::optional<Message> popData(Lock &lock, Inbox &inbox,
                                 const Communicator::Receiver &receiver);
  void taken();
  std::string unfinished() const;

  CommunicatorOptions options;
  mutable std::mutex mutex;
  std::vector<Inbox> inboxes; ///< by rank
  int64_t finishing = 0;      ///< ranks in finish()
  int64_t pending = 0;        ///< messages queued or in a callback
  bool ended = false; ///< all messages are taken and all ranks are in finish()
  Status broken;
  int64_t brokenBy = -1;
  std::condition_variable finished;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_INPROC_INPROCHUB_H
