//===- InprocHub.h - the queues between threads ---------------------------===//
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

/// The queues between all ranks of a job in one process. One lock guards them
/// all: what is done under it is moving a few pointers. Callbacks are called
/// without it. Thread-safe.
class InprocHub {
public:
  InprocHub(int64_t size, const CommunicatorOptions &options);

  int64_t size() const { return static_cast<int64_t>(inboxes.size()); }

  Status send(int64_t from, int64_t to, Lane lane, Bytes bytes);
  Status receive(int64_t rank, int64_t source, Bytes &bytes, Deadline end);
  void stopReceiving(int64_t rank);
  Status finish(int64_t rank, std::chrono::milliseconds patience);
  void abort(int64_t rank, const Status &reason);
  /// `rank` goes away: the job is broken unless it has ended.
  void leave(int64_t rank);
  void roomChanged(int64_t rank);
  std::vector<Traffic> traffic(int64_t rank) const;

  /// The body of the thread of `rank` that calls its receiver: until stop().
  void deliver(int64_t rank, const Communicator::Receiver &receiver);
  void stop(int64_t rank);

  BufferPool buffers;

private:
  struct Inbox {
    std::vector<Ring<Message>> data, control, group; ///< by source
    /// How many are in `group`, by source: who waits for one looks at these
    /// before it sleeps. Changed under the lock, which orders what it takes.
    std::vector<std::atomic<size_t>> groupWaiting;
    std::vector<Traffic> sent; ///< by the rank it was sent to
    /// Something may have to be done: the delivering thread looks again.
    bool changed = false;
    bool stopping = false;
    bool receives = true; ///< of the group lane
    bool finishing = false;
    bool failureReported = false;
    int64_t nextSource = 0; ///< whose data is looked at first
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
  bool ended = false;         ///< all messages are taken, all ranks finishing
  Status broken;
  int64_t brokenBy = -1;
  std::condition_variable finished;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_INPROC_INPROCHUB_H
