//===- NcclCommunicator.h - rows from GPU to GPU --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<NcclLibrary> nccl = openNccl();
//   auto comm = layNcclOver(std::move(base), *nccl, device, options);
//   if (Status s = comm->connect(); !s.ok()) ...
//   comm->start(receiver);
//   comm->sendRows(2, std::move(frame), rows, rowBytes, stream);
//   receiver.take:  ... message.payload.address ... comm->giveBack(payload);
//
// Messages travel over the base communicator (MPI, or threads of a process):
// frames with their row tables, results, cancels. Rows of activations, which
// are in the device's memory, go with a data message by NCCL, on a stream of
// their own, and never through the host. So a cancel waits for nothing that
// NCCL does.
//
// Each way from rank to rank has a ring of device memory at both ends, a
// communicator and a stream. sendRows() copies the rows into the sender's ring,
// where they wait for their turn while the next step is computed. The sender
// knows what the receiver has given back (a credit of a few bytes), and starts
// nothing that the receiver has no room for; the receiver starts to receive as
// soon as the message is here, which is sent when the rows are in the ring. So
// no kernel of NCCL waits for a rank that is merely busy, and one that waits
// for long has lost its rank.
//
// A thread makes NCCL's calls, asks whether they are done, and calls the
// receiver. Rows that have not arrived hold their message up, and those behind
// it of the same rank, no others.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_NCCLCOMMUNICATOR_H
#define SLUICE_RUNTIME_COMM_NCCL_NCCLCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/nccl/NcclLibrary.h"

#include <memory>

namespace sluice::comm {

/// Rows travel from one rank to another.
struct NcclWay {
  int64_t from = 0;
  int64_t to = 0;
};

/// The same at all ranks.
struct NcclOptions {
  std::vector<NcclWay> ways;
  /// Device memory of a way at each of its ends, a multiple of 256; also the
  /// most that one message can bring.
  int64_t ringBytes = int64_t{64} << 20;
  /// Data messages of one rank that wait here, besides those of the base.
  int64_t capacity = defaultCapacity;
  /// For all ranks to meet, and for one transfer.
  std::chrono::milliseconds setup{30000};
  std::chrono::milliseconds patience = ncclPatience;
};

/// A communicator whose data messages can bring device memory.
class NcclCommunicator : public Communicator {
public:
  /// Once, before anything but abort(): waits until all ways are there. All
  /// ranks. Errors: options that make no sense, too little device memory,
  /// NCCL's, ranks with different versions of it or other options, a rank that
  /// does not come. The job is not broken then, so that this rank can say what
  /// is wrong first; the others wait for its abort().
  virtual Status connect() = 0;

  /// As send() with Lane::Data, and with it `rowBytes` of this rank's device,
  /// which the message brings as its payload. Waits while the way has no room,
  /// and until what is in `stream` is done and the rows are copied: call it
  /// behind a step, not with one under way. The calling thread has entered the
  /// device. Errors: also no such way, more than the ring, the driver's.
  virtual Status sendRows(int64_t to, Bytes bytes, cuda::DeviceAddress rows,
                          int64_t rowBytes, cuda::Stream stream) = 0;

  /// The payload of a message that was taken is of no more use: all that reads
  /// it is done. Once for each; best in their order, since room comes back in
  /// it. Thread-safe, cheap; may be called from callbacks.
  virtual void giveBack(const DevicePayload &payload) = 0;
};

/// This rank's end of the job that `base` is an end of; all ranks. `base` has
/// not been started. `device` is this rank's, and outlives the communicator;
/// null where no way leads to or from it, and `library` is not looked at then.
///
/// An error of NCCL or of the driver in a transfer breaks the job like abort(),
/// and besides calls this rank's `failed`; a job that breaks, whoever did it,
/// revokes and aborts NCCL's communicators. A transfer that takes longer than
/// `patience` is such an error.
std::unique_ptr<NcclCommunicator>
layNcclOver(std::unique_ptr<Communicator> base, const NcclLibrary &library,
            cuda::Device *device, const NcclOptions &options);

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLCOMMUNICATOR_H
