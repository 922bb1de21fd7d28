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

/// What the threads that send share with the one that makes MPI's calls. All of
/// it is guarded by `mutex`.
struct MpiShared {
  /// To one rank.
  struct Outbox {
    Ring<Bytes> control, data, group; ///< not yet given to MPI
    int64_t controlOnWay = 0;         ///< queued, or not done by MPI
    int64_t dataOnWay = 0;
    int64_t groupOnWay = 0;
    Traffic sent;
  };

  std::mutex mutex;
  /// Wakes the thread of MPI's calls, who must look at everything again.
  std::condition_variable wake;
  bool changed = false;
  /// Wakes senders that wait for room, and finish().
  std::condition_variable progress;

  std::vector<Outbox> out; ///< by rank

  /// What has come on the group lane.
  std::vector<Ring<Bytes>> group; ///< by source
  /// How many are in `group`, by source: who waits for one looks at these
  /// before it sleeps.
  std::vector<std::atomic<size_t>> groupWaiting;
  int64_t groupAwaited = 0; ///< threads in receive()
  bool receives = true;

  std::optional<Communicator::Receiver> receiver;
  bool finishing = false;
  std::chrono::steady_clock::time_point finishBy;
  bool finalizing = false; ///< all ranks have said that they end
  bool ended = false;
  std::optional<std::string> abortReason;
  Status broken; ///< the first error
};

/// The thread of MPI's calls: from initialize() to the end of the job, all on
/// one thread.
class MpiPump {
public:
  MpiPump(std::unique_ptr<MpiLibrary> library, MpiShared &shared,
          BufferPool &buffers, const CommunicatorOptions &options);

  /// Waits for all ranks, and fills in what the launcher has not said. Errors:
  /// MPI's, or another rank or size than the launcher's.
  Status initialize(MpiLaunch &launch);

  /// Until the job has ended. Does not return from an abort.
  void run();

private:
  using Clock = std::chrono::steady_clock;

  /// What a message on the control communicator is.
  enum class Tag : int { Message, Beat, Done, Bye, Abort };

  struct Sending {
    int to = 0;
    MpiSpace space = MpiSpace::Control;
    Bytes bytes;
    bool counted = false; ///< in the Outbox's messages on their way
    MpiHandle request = 0;
  };

  /// At most one message a source and space, which keeps them in order.
  struct Incoming {
    bool active = false;
    bool complete = false; ///< and waits for room
    int tag = 0;
    MpiHandle request = 0;
    Bytes bytes;
  };

  struct Peer {
    std::array<Incoming, mpiSpaces> incoming; ///< by MpiSpace
    std::array<Ring<Sending>, mpiSpaces>
        sends;           ///< to it, not done; by MpiSpace
    Ring<Bytes> control; ///< arrived before start()
    Clock::time_point heard;
    uint64_t dataTaken = 0, controlTaken = 0;
    bool done = false; ///< sends no more; the counts are what it has sent
    uint64_t dataSent = 0, controlSent = 0;
    bool bye = false; ///< has taken everything
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

  std::vector<Sending> orders; ///< to be given to MPI
  std::vector<Peer> peers;     ///< by rank
  int64_t sending = 0;         ///< given to MPI, not done; to all peers
  /// Sources with an active Incoming, by MpiSpace.
  std::array<int64_t, mpiSpaces> busy{};
  const Communicator::Receiver *receiver = nullptr; ///< once started
  bool broken = false;
  bool failureReported = false;
  bool othersNotified = false; ///< by the rank whose abort this one has seen
  End end = End::Working;
  bool over = false;
  Clock::time_point lastBeat, lastRound, lastMoved;
  std::chrono::microseconds nap;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_MPI_MPIPUMP_H
