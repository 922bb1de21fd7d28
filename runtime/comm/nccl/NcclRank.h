//===- NcclRank.h - one rank's end, and its thread ------------------------===//
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

/// How long is looked for the end of what takes microseconds without sleeping,
/// and then between two looks.
constexpr std::chrono::microseconds attention{100};
constexpr std::chrono::microseconds nap{50};

/// How long the ranks have to tell their users that NCCL or a device has
/// failed, before the job ends.
constexpr std::chrono::milliseconds tellingGrace{2000};

/// What is for users is in NcclCommunicator.cpp, what the thread does in
/// NcclPump.cpp, what the base communicator brings in NcclArrivals.cpp.
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

  /// Another rank, or this one. All but the edges, which are the thread's, is
  /// guarded by `mutex`.
  struct Peer {
    explicit Peer(int64_t ringBytes) : room(ringBytes) {}

    /// To it and from it; where it is this rank, `to` does both.
    std::unique_ptr<NcclEdge> to, from;
    /// By which its rows come; null where none do.
    NcclEdge *incoming() const { return (from ? from : to).get(); }

    // What is sent to it.
    std::mutex sending;           ///< one sendRows() at a time; before `mutex`
    cuda::Event copied = nullptr; ///< the rows are in the ring; the thread's
    MirrorRing room;
    Ring<NcclTransfer> sendOrders;
    uint64_t rowsSent = 0, rowsBack = 0; ///< messages with rows
    Traffic sent;

    // What comes from it.
    bool isWay = false; ///< rows come
    std::optional<NcclUniqueId> id;
    Ring<Message> control, data;
    Ring<NcclTransfer> receiveOrders;
    uint64_t rowsArrived = 0, rowsGivenBack = 0;
    std::vector<uint64_t> givenBackEarly; ///< numbers, before older ones
    uint64_t dataTaken = 0, controlTaken = 0;
    bool done = false; ///< sends no more; the counts are what it has sent
    uint64_t dataAnnounced = 0, controlAnnounced = 0;

    bool drained() const {
      return done && dataTaken == dataAnnounced &&
             controlTaken == controlAnnounced;
    }
  };

  // From the base communicator.
  void arrive(Message message);
  Status copyRows(Peer &peer, cuda::DeviceAddress to, cuda::DeviceAddress rows,
                  uint64_t bytes, cuda::Stream stream);
  Status read(Message &message);
  Status readPayload(Message &message, const NcclEnvelope &envelope);
  Status readJoin(const Message &message, const NcclEnvelope &envelope);
  Status readCredit(Peer &peer, const NcclEnvelope &envelope);

  // The thread.
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
  /// With the lock.
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
  cuda::Device *device; ///< null: no way leads to or from this rank
  NcclOptions options;
  int64_t self;

  ReceiverGate gate;
  mutable std::mutex mutex;                 ///< guards what follows
  std::vector<std::unique_ptr<Peer>> peers; ///< by rank
  std::optional<Receiver> receiver;         ///< the gate's
  size_t nextSource = 0;                    ///< whose data is looked at first
  bool changed = false;                     ///< the thread must look again
  bool isBusy = false;                      ///< a transfer is under way
  bool finishing = false;
  bool drained = false; ///< all ranks have taken everything from this one
  bool ended = false;   ///< the base has: the thread closes the edges
  bool closed = false;
  bool stopping = false;
  bool aborted = false; ///< by this rank's user
  bool reported = false;
  bool brokenOff = false;  ///< the edges
  Status broken;           ///< the first error, with its rank
  bool baseBroken = false; ///< the base is, too
  /// What this rank has found to be broken, and when it ends the job by that.
  Status found;
  std::optional<Clock::time_point> endBy;
  std::condition_variable wake;     ///< the thread
  std::condition_variable progress; ///< senders, finish(), and setUp()
  Clock::time_point lastMoved;
  std::thread thread;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLRANK_H
