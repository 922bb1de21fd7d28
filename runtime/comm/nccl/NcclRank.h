//===- NcclRank.h - one rank's end of an NcclCommunicator -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_NCCLRANK_H
#define SLUICE_RUNTIME_COMM_NCCL_NCCLRANK_H

#include "runtime/comm/ReceiverGate.h"
#include "runtime/comm/nccl/MirrorRing.h"
#include "runtime/comm/nccl/NcclCommunicator.h"
#include "runtime/comm/nccl/NcclEdge.h"
#include "runtime/comm/nccl/NcclEnvelope.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace sluice::comm {

/// How long a poll for something that takes microseconds spins, and how long it
/// then sleeps between two polls.
constexpr std::chrono::microseconds attention{100};
constexpr std::chrono::microseconds nap{50};

/// How long the ranks have to report that NCCL or a device has failed, before
/// the job ends.
constexpr std::chrono::milliseconds tellingGrace{2000};

/// Implements NcclCommunicator. The public methods are in NcclCommunicator.cpp,
/// the thread that calls NCCL in NcclPump.cpp, and what handles messages of the
/// base communicator in NcclArrivals.cpp.
class NcclRank final : public NcclCommunicator {
public:
  NcclRank(std::unique_ptr<Communicator> base, const NcclLibrary &library,
           cuda::Device *device, const NcclOptions &options);
  ~NcclRank() override;

  Status connect() override;

  int64_t rank() const override { return self; }
  int64_t size() const override { return static_cast<int64_t>(peers.size()); }
  void start(Receiver given) override;
  void detach() override;
  void roomChanged() override;
  Status send(int64_t to, Lane lane, Bytes bytes,
              int64_t emulatedBytes) override;
  Status sendRows(int64_t to, Bytes bytes, cuda::DeviceAddress rows,
                  int64_t rowBytes, cuda::Stream stream) override;
  void giveBack(const DevicePayload &payload) override;
  Status receive(int64_t source, Bytes &bytes, Deadline end) override {
    return base->receive(source, bytes, end);
  }
  void stopReceiving() override { base->stopReceiving(); }
  Status finish(std::chrono::milliseconds patience) override;
  void abort(const Status &reason) override;
  std::vector<Traffic> traffic() const override;
  BufferPool &buffers() override { return base->buffers(); }

private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  using Kind = NcclEnvelope::Kind;

  /// The state for one rank, or for this rank itself. The edges belong to the
  /// thread; `mutex` guards all else.
  struct Peer {
    explicit Peer(int64_t ringBytes) : room(ringBytes) {}

    /// The ways to it and from it. For this rank itself, `to` does both.
    std::unique_ptr<NcclEdge> to, from;
    /// Returns the edge by which its rows come; null if none come.
    NcclEdge *incoming() const { return (from ? from : to).get(); }

    // The state of what is sent to it.
    /// Held during one sendRows(); locked before `mutex`.
    std::mutex sending;
    /// Recorded once the rows are in the ring; owned by the thread.
    cuda::Event copied = nullptr;
    MirrorRing room;
    Ring<NcclTransfer> sendOrders;
    /// Messages with rows that were sent, and those that came back.
    uint64_t rowsSent = 0, rowsBack = 0;
    Traffic sent;

    // The state of what comes from it.
    bool isWay = false; ///< rows come from it
    std::optional<NcclUniqueId> id;
    Ring<Message> control, data;
    Ring<NcclTransfer> receiveOrders;
    uint64_t rowsArrived = 0, rowsGivenBack = 0;
    /// The numbers of payloads that were given back before older ones.
    std::vector<uint64_t> givenBackEarly;
    uint64_t dataTaken = 0, controlTaken = 0;
    /// The rank sends no more, and dataAnnounced and controlAnnounced are the
    /// numbers of messages that it has sent.
    bool done = false;
    uint64_t dataAnnounced = 0, controlAnnounced = 0;

    bool drained() const {
      return done && dataTaken == dataAnnounced &&
             controlTaken == controlAnnounced;
    }
  };

  // Called for messages of the base communicator.
  void arrive(Message message);
  Status copyRows(Peer &peer, cuda::DeviceAddress to, cuda::DeviceAddress rows,
                  uint64_t bytes, cuda::Stream stream);
  Status read(Message &message);
  Status readPayload(Message &message, const NcclEnvelope &envelope);
  Status readJoin(const Message &message, const NcclEnvelope &envelope);
  Status readCredit(Peer &peer, const NcclEnvelope &envelope);

  // Called on the thread that calls NCCL.
  Status setUp();
  Status makeWaysOut();
  Status makeWaysIn(Clock::time_point deadline);
  Status awaitLinks(Clock::time_point deadline);
  Status greet();
  void runToTheEnd();
  void run();
  void takeOrders();
  bool advance(Lock &lock);
  Expected<bool> advanceEdges(Clock::duration patience);
  bool deliverControl(Lock &lock);
  bool deliverData(Lock &lock);
  bool hasCome(const Peer &peer, const DevicePayload &payload) const;
  bool tellFailure(Lock &lock);
  void tellOthers(const Status &reason);
  bool endJob(Lock &lock);
  void idle(Lock &lock);
  void closeEdges(Lock &lock);
  void dropEdges();
  template <typename Call> void forEachEdge(Call call);

  Status sendControl(int64_t to, Kind kind, uint64_t first, uint64_t second,
                     std::span<const uint8_t> body = {});
  /// Called with the lock held.
  Status stateError() const;
  void fail(const Status &status);
  bool allDrained() const;
  std::string unfinished() const;
  void signal() {
    changed = true;
    wake.notify_one();
  }

  std::unique_ptr<Communicator> base;
  NcclLibrary library;
  cuda::Device *device; ///< null if no way leads to or from this rank
  NcclOptions options;
  int64_t self;

  ReceiverGate gate;
  mutable std::mutex mutex;                 ///< guards what follows
  std::vector<std::unique_ptr<Peer>> peers; ///< by rank
  std::optional<Receiver> receiver;         ///< the one that the gate returned
  size_t nextSource = 0; ///< the source whose data is looked at first
  bool changed = false;  ///< the thread must look again
  bool isBusy = false;   ///< a transfer is under way
  bool finishing = false;
  /// All ranks have taken all messages of this rank.
  bool drained = false;
  /// The base communicator has ended, so the thread closes the edges.
  bool ended = false;
  bool closed = false;
  bool stopping = false;
  bool aborted = false; ///< by this rank's user
  bool reported = false;
  bool brokenOff = false; ///< the edges are broken off
  /// The first error, with its rank.
  Status broken;
  bool baseBroken = false; ///< the base communicator has failed, too
  /// The failure that this rank has found, and when this rank ends the job with
  /// it.
  Status found;
  std::optional<Clock::time_point> endBy;
  std::condition_variable wake;     ///< wakes the thread
  std::condition_variable progress; ///< wakes senders, finish() and setUp()
  Clock::time_point lastMoved;
  std::thread thread;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLRANK_H
