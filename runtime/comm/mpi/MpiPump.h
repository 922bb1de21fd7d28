//===- MpiPump.h - the thread that calls MPI ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_MPI_MPIPUMP_H
#define SLUICE_RUNTIME_COMM_MPI_MPIPUMP_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/Ring.h"
#include "runtime/comm/mpi/MpiLibrary.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace sluice::comm {

/// The state that sending threads share with the thread that calls MPI. All of
/// it is guarded by `mutex`; `groupWaiting` may be read without it.
struct MpiShared {
  /// The messages to one rank.
  struct Outbox {
    Ring<Bytes> control, data, group; ///< not yet given to MPI
    int64_t controlOnWay = 0;         ///< queued, or not yet done by MPI
    int64_t dataOnWay = 0;
    int64_t groupOnWay = 0;
    Traffic sent;
  };

  std::mutex mutex;
  /// Wakes the thread that calls MPI, which must look at everything again.
  std::condition_variable wake;
  bool changed = false;
  /// Wakes senders that wait for room, and finish().
  std::condition_variable progress;

  std::vector<Outbox> out; ///< by rank

  /// Messages that have arrived on the group lane.
  std::vector<Ring<Bytes>> group; ///< by source
  /// The number of messages in `group`, by source. receive() polls it for a
  /// moment before it sleeps.
  std::vector<std::atomic<size_t>> groupWaiting;
  int64_t groupAwaited = 0; ///< the number of threads in receive()
  bool receives = true;

  std::optional<Communicator::Receiver> receiver;
  bool finishing = false;
  std::chrono::steady_clock::time_point finishBy;
  bool finalizing = false; ///< all ranks have said that they are ready to end
  bool ended = false;
  std::optional<std::string> abortReason;
  Status broken; ///< the first error
};

/// Makes all calls of MPI, from initialize() to the end of the job, on one
/// thread.
class MpiPump {
public:
  MpiPump(std::unique_ptr<MpiLibrary> library, MpiShared &shared,
          BufferPool &buffers, const CommunicatorOptions &options);

  /// Initializes MPI, which blocks until all ranks do, and fills in what the
  /// launcher has not set. Errors: MPI's, or a rank or size that differs from
  /// the launch.
  Status initialize(MpiLaunch &launch);

  /// Sends and receives until the job has ended. Does not return after an
  /// abort.
  void run();

private:
  using Clock = std::chrono::steady_clock;

  /// The kinds of messages on the control communicator, as MPI tags.
  enum class Tag : int { Message, Beat, Done, Bye, Abort };

  struct Sending {
    int to = 0;
    MpiSpace space = MpiSpace::Control;
    Bytes bytes;
    bool counted = false; ///< it is in the Outbox's count of messages under way
    MpiHandle request = 0;
  };

  /// A message that is being received. There is at most one of each source and
  /// space, which keeps messages in order.
  struct Incoming {
    bool active = false;
    bool complete = false; ///< received, and waiting for room
    int tag = 0;
    MpiHandle request = 0;
    Bytes bytes;
  };

  struct Peer {
    std::array<Incoming, mpiSpaces> incoming; ///< by MpiSpace
    /// Sends to this peer that are not done, by MpiSpace.
    std::array<Ring<Sending>, mpiSpaces> sends;
    Ring<Bytes> control; ///< control messages that have come before start()
    Clock::time_point heard;
    uint64_t dataTaken = 0, controlTaken = 0;
    /// The peer sends no more, and dataSent and controlSent are the numbers of
    /// messages that it has sent.
    bool done = false;
    uint64_t dataSent = 0, controlSent = 0;
    bool bye = false; ///< the peer has taken everything
  };

  enum class End { Working, SaidDone, SaidBye };

  struct Orders {
    bool abort = false, broken = false, finishing = false;
    bool groupAwaited = false;
  };

  Status runRound();
  Orders takeOrders();
  void post(Sending sending, Tag tag);
  void postTo(int to, Tag tag, std::span<const uint8_t> bytes);
  bool pump(Clock::time_point now);
  bool completeSends();
  bool completeSends(Ring<Sending> &queue);
  bool match(MpiSpace space, Clock::time_point now);
  bool matchFrom(MpiSpace space, int source, Clock::time_point now);
  bool completeReceives(MpiSpace space);
  bool groupFull(int source) const;
  bool anyGroupFull() const;
  void keepForGroup(int source, Incoming &incoming);
  bool handleControl(int source, Incoming &incoming);
  bool deliverControl();
  bool deliverData();
  void deliver(int source, Lane lane, Bytes bytes);
  void beat(Clock::time_point now);
  void checkSilence(Clock::time_point now);
  void advanceEnd(Clock::time_point now);
  bool allTaken() const;
  void sayDone();
  void finalize();
  std::string unfinished() const;
  void idle(bool moved, bool groupAwaited, Clock::time_point now);
  void fail(const Status &status);
  void tellFailure();
  [[noreturn]] void abortJob();

  std::unique_ptr<MpiLibrary> library;
  MpiShared &shared;
  BufferPool &buffers;
  CommunicatorOptions options;
  int self = 0;
  int ranks = 1;

  std::vector<Sending> orders; ///< sends that are to be given to MPI
  std::vector<Peer> peers;     ///< by rank
  int64_t sending = 0;         ///< sends to all peers that MPI has not done
  /// The number of sources with an active Incoming, by MpiSpace.
  std::array<int64_t, mpiSpaces> busy{};
  /// Set once start() was called.
  const Communicator::Receiver *receiver = nullptr;
  bool broken = false;
  bool failureReported = false;
  /// Set by the abort of another rank, which has told all others itself.
  bool othersNotified = false;
  End end = End::Working;
  bool over = false;
  Clock::time_point lastBeat, lastRound, lastMoved;
  std::chrono::microseconds nap;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_MPI_MPIPUMP_H
