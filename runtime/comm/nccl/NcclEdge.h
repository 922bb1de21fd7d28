//===- NcclEdge.h - device memory that travels from rank to rank ----------===//
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

/// Bytes in a ring of the device's memory.
struct NcclTransfer {
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// One rank's end of the way from one rank to another: a ring of device memory,
/// a stream and an NCCL communicator of two ranks (of one, to itself). A
/// communicator for each direction, since the operations of one wait for each
/// other: two ranks that send to each other would.
///
/// Transfers are made one after the other, in the order of the orders. One
/// thread, which has entered the device; it also destroys this.
class NcclEdge {
public:
  using Clock = std::chrono::steady_clock;
  enum class Role : uint8_t { Sender, Receiver, Both };

  /// `device` outlives this.
  NcclEdge(const NcclLibrary &library, cuda::Device &device, Role role)
      : library(library), device(device), role(role), link(library) {}
  ~NcclEdge();

  /// Allocates. Errors: the driver's, with what was too big.
  Status open(int64_t ringBytes);
  Status join(const NcclUniqueId &id);

  cuda::DeviceAddress out(int64_t offset) const {
    return sendRing + static_cast<uint64_t>(offset);
  }
  cuda::DeviceAddress in(int64_t offset) const {
    return receiveRing + static_cast<uint64_t>(offset);
  }

  /// To be made behind those that were ordered before. A sender's bytes are in
  /// the ring.
  void order(const NcclTransfer &transfer) { orders.push(transfer); }

  /// Goes on as far as it can without waiting. True: something has been done.
  /// Errors: NCCL's, the driver's, or a transfer that has taken `patience`.
  Expected<bool> advance(Clock::time_point now, Clock::duration patience);
  /// Whether advance() may have to do something soon.
  bool busy() const { return state != State::Idle || !orders.empty(); }
  /// Transfers that are complete, since the greeting.
  uint64_t completed() const { return done; }

  /// The first bytes of a way set its connection up, which needs both ranks:
  /// orders some, once it has joined.
  void greet() { order({0, greetingBytes}); }
  /// Behind them; what completes from now on is counted.
  void greeted() { done = 0; }

  /// Ends what is under way; see NcclLink.
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
