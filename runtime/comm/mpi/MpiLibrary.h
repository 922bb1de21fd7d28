//===- MpiLibrary.h - the MPI calls that are used -------------------------===//
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

/// The MPI communicators. Each lane has one over all ranks, so that polling for
/// a control message never finds data, and messages of a group never wait
/// behind either.
enum class MpiSpace : uint8_t { Data, Control, Group };
constexpr size_t mpiSpaces = 3;

/// An MPI_Request or MPI_Message of Open MPI or MPICH.
using MpiHandle = uint64_t;

/// A message that MPI has matched for this rank, which must now be received.
struct MpiArrival {
  int source = 0;
  int tag = 0;
  int64_t bytes = 0;
  MpiHandle message = 0;
};

constexpr int anySource = -1;

/// The MPI calls that MpiCommunicator needs, in Open MPI or MPICH. The thread
/// that calls initialize() makes all other calls too. Errors carry MPI's own
/// text.
class MpiLibrary {
public:
  virtual ~MpiLibrary() = default;

  /// Initializes MPI; blocks until all ranks do. Errors: MPI's, or too low a
  /// level of thread support.
  virtual Status initialize() = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// This rank's number among the ranks on its machine, and how many these are.
  virtual int localRank() const = 0;
  virtual int localSize() const = 0;

  /// Starts to send `bytes`, which must live until test() says that `request`
  /// is done. A synchronous send is done only once the receiver has matched it.
  virtual Status send(MpiSpace space, int to, int tag,
                      std::span<const uint8_t> bytes, bool synchronous,
                      MpiHandle &request) = 0;
  /// Looks for a message from `source`, or from any rank for anySource, and
  /// matches it.
  virtual Status probe(MpiSpace space, int source, bool &found,
                       MpiArrival &arrival) = 0;
  /// Starts to receive a matched message. `into` must live until `request` is
  /// done.
  virtual Status receive(MpiArrival &arrival, std::span<uint8_t> into,
                         MpiHandle &request) = 0;
  virtual Status test(MpiHandle &request, bool &done) = 0;

  /// Finalizes MPI; blocks until all ranks do.
  virtual Status finalize() = 0;
  /// Ends all ranks with exit status `status`. Does not return.
  virtual void abort(int status) = 0;
};

/// Opens the library that `launch` names. Errors: the library is missing, is
/// another MPI, or this executable was built without that MPI's header.
Expected<std::unique_ptr<MpiLibrary>> openMpiLibrary(const MpiLaunch &launch);

/// Open one kind of library. Each function is in the object that was compiled
/// against that MPI's header.
Expected<std::unique_ptr<MpiLibrary>> openOpenMpi(const std::string &path);
Expected<std::unique_ptr<MpiLibrary>> openMpich(const std::string &path);

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_MPI_MPILIBRARY_H
