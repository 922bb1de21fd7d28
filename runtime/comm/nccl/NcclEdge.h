//===- NcclEdge.h - one end of a way between two GPUs ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_NCCLEDGE_H
#define SLUICE_RUNTIME_COMM_NCCL_NCCLEDGE_H

#include "runtime/comm/Ring.h"
#include "runtime/comm/nccl/NcclLink.h"

namespace sluice::comm {

/// How long a poll for something that takes microseconds spins, and how long it
/// then sleeps between two polls.
constexpr std::chrono::microseconds attention{100};
constexpr std::chrono::microseconds nap{50};

/// A region in a ring of device memory.
struct NcclTransfer {
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// One rank's end of the way from one rank to another: a ring of device memory,
/// a stream and an NCCL communicator of two ranks (of one rank for a way to
/// itself). Each direction has its own communicator, since the operations of a
/// communicator wait for each other, so two ranks that send to each other would
/// wait for ever.
///
/// Transfers are made one at a time, in the order of order(). One thread uses
/// and destroys this object; it must have entered the device.
class NcclEdge {
public:
  using Clock = std::chrono::steady_clock;
  enum class Role : uint8_t { Sender, Receiver, Both };

  /// `device` must outlive this object.
  NcclEdge(const NcclLibrary &library, cuda::Device &device, Role role)
      : library(library), device(device), role(role), link(library) {}
  ~NcclEdge();

  /// Allocates the ring. Errors: the driver's, which name the allocation that
  /// was too large.
  Status open(int64_t ringBytes);
  Status join(const NcclUniqueId &id);

  cuda::DeviceAddress out(int64_t offset) const {
    return sendRing + static_cast<uint64_t>(offset);
  }
  cuda::DeviceAddress in(int64_t offset) const {
    return receiveRing + static_cast<uint64_t>(offset);
  }

  /// Queues a transfer behind those that were ordered before. At the sender,
  /// the bytes must already be in the ring.
  void order(const NcclTransfer &transfer) { orders.push(transfer); }

  /// Makes what progress it can without waiting, and returns whether it made
  /// any. Errors: NCCL's, the driver's, or a transfer that has taken longer
  /// than `patience`.
  Expected<bool> advance(Clock::time_point now, Clock::duration patience);
  /// Returns whether advance() may soon have something to do.
  bool busy() const { return state != State::Idle || !orders.empty(); }
  /// The number of transfers that are complete since greeted().
  uint64_t completed() const { return done; }

  /// Orders a short first transfer, after join(): the first bytes of a way set
  /// up its connection, which needs both ranks.
  void greet() { order({0, greetingBytes}); }
  /// Restarts the count of completed(), after the transfer of greet().
  void greeted() { done = 0; }

  /// Ends all transfers under way; see NcclLink::breakOffOn().
  void breakOff() { link.breakOffOn(device); }

  NcclLink &nccl() { return link; }

private:
  static constexpr int64_t greetingBytes = 256;
  enum class State : uint8_t { Idle, Posting, Running };

  Status post(const NcclTransfer &transfer);

  NcclLibrary library;
  cuda::Device &device;
  Role role;
  NcclLink link;
  cuda::DeviceAddress sendRing = 0, receiveRing = 0;
  cuda::Stream stream = nullptr;
  cuda::Event finished = nullptr; ///< of the transfer under way
  Ring<NcclTransfer> orders;
  State state = State::Idle;
  Clock::time_point begun;
  uint64_t done = 0;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLEDGE_H
