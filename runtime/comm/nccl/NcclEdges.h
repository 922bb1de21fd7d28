//===- NcclEdges.h - the ways by which rows leave and reach a rank --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_NCCLEDGES_H
#define SLUICE_RUNTIME_COMM_NCCL_NCCLEDGES_H

#include "runtime/comm/nccl/NcclCommunicator.h"
#include "runtime/comm/nccl/NcclEdge.h"

#include <functional>

namespace sluice::comm {

/// The ends of all ways that lead from this rank or to it. One thread, which
/// must have entered the device, makes them, advances them and destroys them;
/// copyIn() alone belongs to senders.
class NcclEdges {
public:
  using Clock = std::chrono::steady_clock;

  /// All must outlive the object. `device` is null if there are no ways.
  NcclEdges(const NcclLibrary &library, cuda::Device *device,
            const NcclOptions &options, int64_t self, int64_t ranks)
      : library(library), device(device), options(options), self(self),
        ends(static_cast<size_t>(ranks)) {}

  /// What setting up needs of the job.
  struct Meeting {
    /// Sends the id of a way that begins here to its other end.
    std::function<Status(int64_t to, const NcclUniqueId &id)> invite;
    /// Waits for the id of a way that ends here, and for no longer than the
    /// time. Fails if the job is broken.
    std::function<Expected<NcclUniqueId>(int64_t from,
                                         Clock::time_point deadline)>
        awaitInvitation;
    /// Waits for a moment. Fails if the job is broken.
    std::function<Status(Clock::duration)> pause;
  };
  /// Makes the edges, connects them with the other ranks, and makes the first
  /// transfer of each way here, where the other rank may be late, and not in a
  /// step.
  Status setUp(const Meeting &meeting);

  /// Returns whether rows can be sent to the rank. Thread-safe.
  bool leadTo(int64_t rank) const { return ends[size_t(rank)].to != nullptr; }
  /// Copies rows into the ring of the way to a rank and returns when they are
  /// there. The receiver starts to receive as soon as it has the message, and
  /// its NCCL kernel would have to wait for the work that precedes the rows in
  /// the stream. Called by one thread at a time for each rank.
  Status copyIn(int64_t to, int64_t offset, cuda::DeviceAddress rows,
                uint64_t bytes, cuda::Stream stream);

  /// Queues a transfer to a rank, or from one.
  void orderTo(int64_t rank, const NcclTransfer &transfer) {
    ends[size_t(rank)].to->order(transfer);
  }
  void orderFrom(int64_t rank, const NcclTransfer &transfer) {
    ends[size_t(rank)].from->order(transfer);
  }
  /// Makes what progress there is; see NcclEdge::advance().
  Expected<bool> advance(Clock::duration patience);
  /// Returns whether a transfer is under way.
  bool isBusy();
  /// Returns whether the rows of a payload from the rank have come.
  bool haveBrought(int64_t source, const DevicePayload &payload) const {
    return payload.bytes == 0 ||
           ends[size_t(source)].incoming()->completed() > payload.number;
  }
  /// Returns where these rows are.
  cuda::DeviceAddress addressOf(int64_t source, int64_t offset) const {
    return ends[size_t(source)].incoming()->in(offset);
  }

  /// Ends all transfers under way, which may take as long as NCCL likes.
  void breakOff();
  /// Ends all ways, in agreement with the other ranks.
  Status close(Clock::duration patience);
  /// Destroys the edges, when no thread sends any more.
  void drop();

private:
  struct Ends {
    /// The ways to a rank and from it. For this rank itself, `to` does both.
    std::unique_ptr<NcclEdge> to, from;
    /// Recorded once rows are in the ring of `to`.
    cuda::Event copied = nullptr;
    /// Returns the edge by which its rows come; null if none come.
    NcclEdge *incoming() const { return (from ? from : to).get(); }
  };

  Status makeWaysOut(const Meeting &meeting);
  Status makeWaysIn(const Meeting &meeting, Clock::time_point deadline);
  Status awaitLinks(const Meeting &meeting, Clock::time_point deadline);
  Status greet(const Meeting &meeting);
  template <typename Call> void forEach(Call call);

  const NcclLibrary &library;
  cuda::Device *device;
  const NcclOptions &options;
  int64_t self;
  std::vector<Ends> ends; ///< by rank
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLEDGES_H
