//===- MpiLibrary.h - the calls of MPI that are used ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_MPI_MPILIBRARY_H
#define SLUICE_RUNTIME_COMM_MPI_MPILIBRARY_H

#include "runtime/base/Status.h"
#include "runtime/comm/mpi/MpiLaunch.h"

#include <cstdint>
#include <memory>
#include <span>

namespace sluice::comm {

/// A communicator over all ranks for each, so that looking for a control
/// message never finds data, and the members of a group never wait behind
/// either.
enum class MpiSpace : uint8_t { Data, Control, Group };
constexpr size_t mpiSpaces = 3;

/// An MPI_Request or MPI_Message of either library.
using MpiHandle = uint64_t;

/// A message that MPI has matched for this rank, and that must be received.
struct MpiArrival {
  int source = 0;
  int tag = 0;
  int64_t bytes = 0;
  MpiHandle message = 0;
};

constexpr int anySource = -1;

/// The MPI calls that the communicator needs, in one of the two libraries. All
/// are made by one thread, the one that called initialize(). Every error is
/// returned with MPI's own text.
class MpiLibrary {
public:
  virtual ~MpiLibrary() = default;

  /// Waits for all ranks. Errors: MPI's, or too low a level of thread support.
  virtual Status initialize() = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// This rank's number among those that share its machine, and theirs.
  virtual int localRank() const = 0;
  virtual int localSize() const = 0;

  /// Starts to send. `bytes` must stay until test() says that it is done. A
  /// synchronous send is done only once the receiver has matched it.
  virtual Status send(MpiSpace space, int to, int tag,
                      std::span<const uint8_t> bytes, bool synchronous,
                      MpiHandle &request) = 0;
  /// Looks for a message from `source` or anySource, and matches it.
  virtual Status probe(MpiSpace space, int source, bool &found,
                       MpiArrival &arrival) = 0;
  /// Starts to receive what was matched; `into` must stay until it is done.
  virtual Status receive(MpiArrival &arrival, std::span<uint8_t> into,
                         MpiHandle &request) = 0;
  virtual Status test(MpiHandle &request, bool &done) = 0;

  /// Waits for all ranks.
  virtual Status finalize() = 0;
  /// Ends all ranks with this exit status. Does not return.
  virtual void abort(int status) = 0;
};

/// Opens the library that `launch` names. Errors: it is not there, it is
/// another MPI, or this executable was built without that MPI's header.
Expected<std::unique_ptr<MpiLibrary>> openMpiLibrary(const MpiLaunch &launch);

/// Each in the file that was compiled for it.
Expected<std::unique_ptr<MpiLibrary>> openOpenMpi(const std::string &path);
Expected<std::unique_ptr<MpiLibrary>> openMpich(const std::string &path);

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_MPI_MPILIBRARY_H
