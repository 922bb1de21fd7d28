//===- NcclCommunicator.h - messages with rows from GPU to GPU ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A communicator whose data messages can bring rows from one GPU to another:
//
//   Expected<NcclLibrary> nccl = openNccl();
//   auto comm = layNcclOver(std::move(base), *nccl, device, options);
//   if (Status s = comm->connect(); !s.ok()) ...
//   comm->start(receiver);
//   comm->sendRows(2, std::move(frame), rows, rowBytes, stream);
//   receiver.take:  ... message.payload.address ... comm->giveBack(payload);
//
// Messages travel over the base communicator (MPI, or threads of a process):
// frames with their row tables, results, cancels. The rows of activations that
// come with a data message stay in device memory: NCCL carries them, on a
// stream of its own, and they never pass through the host. So a cancel never
// waits for NCCL.
//
// Each way from rank to rank has a ring of device memory at both ends, an NCCL
// communicator and a stream. sendRows() copies the rows into the sender's ring,
// where they wait for their turn while the next step is computed. Credits,
// which are control messages of a few bytes, tell the sender what the receiver
// has given back, so the sender starts no transfer that the receiver has no
// room for. The message is sent when the rows are in the ring, and the receiver
// starts to receive as soon as the message has come. So no NCCL kernel waits
// for a rank that is merely busy, and a kernel that waits for long has lost its
// peer.
//
// One thread makes all NCCL calls, polls whether they are done, and calls the
// receiver. Rows that have not arrived hold up their own message and later
// messages of the same rank, but no others.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_NCCLCOMMUNICATOR_H
#define SLUICE_RUNTIME_COMM_NCCL_NCCLCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/nccl/NcclLibrary.h"

#include <memory>

namespace sluice::comm {

/// A pair of ranks between which rows travel.
struct NcclWay {
  int64_t from = 0;
  int64_t to = 0;
};

/// Options of the communicator, which must be the same at all ranks.
struct NcclOptions {
  std::vector<NcclWay> ways;
  /// The size of a way's ring at each end, in bytes, a multiple of 256. It is
  /// also the most that one message can bring.
  int64_t ringBytes = int64_t{64} << 20;
  /// How many data messages of one rank wait here, besides those that wait in
  /// the base communicator.
  int64_t capacity = defaultCapacity;
  /// How long all ranks may take to connect, and how long one transfer may
  /// take.
  std::chrono::milliseconds setup{30000};
  std::chrono::milliseconds patience = ncclPatience;
};

/// A communicator whose data messages can bring device memory.
class NcclCommunicator : public Communicator {
public:
  /// Connects all ways; called once by all ranks, before any method but
  /// abort(), and blocks until all are connected. Errors: invalid options, too
  /// little device memory, NCCL's, ranks with another version of NCCL or other
  /// options, or a rank that does not come. An error does not break the job, so
  /// that this rank can first report it; the other ranks wait for its abort().
  virtual Status connect() = 0;

  /// Like send() with Lane::Data, but also sends `rowBytes` bytes at `rows` of
  /// this rank's device, which the message brings as its payload. Blocks while
  /// the way has no room, and until the work in `stream` is done and the rows
  /// are copied: call it after a step, not while one is running. The calling
  /// thread must have entered the device. Further errors: there is no such way,
  /// the rows exceed the ring, or the driver's.
  virtual Status sendRows(int64_t to, Bytes bytes, cuda::DeviceAddress rows,
                          int64_t rowBytes, cuda::Stream stream) = 0;

  /// Gives back the payload of a message, once all work that reads it is done.
  /// Called once for each payload. The order of arrival is best, since room is
  /// freed in that order. Thread-safe and cheap; may be called from callbacks.
  virtual void giveBack(const DevicePayload &payload) = 0;
};

/// Makes this rank's end of the job that `base` is an end of; called by all
/// ranks. `base` must not have been started. `device` is this rank's and must
/// outlive the communicator. It is null if no way leads to or from this rank;
/// `library` is then not used.
///
/// An error of NCCL or of the driver in a transfer breaks the job like abort(),
/// but also calls this rank's `failed`. A transfer that takes longer than
/// `patience` is such an error. When the job breaks, for any reason, NCCL's
/// communicators are revoked and aborted.
std::unique_ptr<NcclCommunicator>
layNcclOver(std::unique_ptr<Communicator> base, const NcclLibrary &library,
            cuda::Device *device, const NcclOptions &options);

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLCOMMUNICATOR_H
