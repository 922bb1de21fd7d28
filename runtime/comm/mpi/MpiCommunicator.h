//===- MpiCommunicator.h - ranks as processes under MPI -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A communicator whose ranks are processes that an MPI launcher has started:
//
//   Expected<std::unique_ptr<Communicator>> comm = connectMpi(launch);
//
// One thread makes all calls of MPI. Data goes out by synchronous sends, of
// which at most `capacity` to each rank are outstanding. A rank matches one
// data message of each source and keeps it until its receiver has room; all
// others stay with their sender. Control messages travel on an MPI communicator
// of their own, which is polled first.
//
// Each rank sends heartbeats to all others, and treats a rank that has been
// silent for too long as lost. The launcher notices a rank that dies;
// heartbeats notice a rank that has stopped, or a machine that is out of reach.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H
#define SLUICE_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/mpi/MpiLaunch.h"

#include <memory>

namespace sluice::comm {

/// Returns this process's end of the job that `launch` is part of. Called once
/// in a process, and blocks until all ranks have called it. Call it before the
/// process has other threads: libraries that MPI opens may overwrite functions
/// of the C library.
///
/// A job ends in order with finish(). abort(), or destroying the communicator
/// before finish(), ends all processes with status 1: the other ranks are told
/// and get a moment to report, then MPI_Abort ends this process, also within
/// the destructor.
///
/// Fills in the local rank and size of `launch` if the launcher has not set
/// them.
///
/// Errors: the library is missing or is another MPI, an error of MPI, or a rank
/// or size that differs from the launch.
Expected<std::unique_ptr<Communicator>>
connectMpi(MpiLaunch &launch, const CommunicatorOptions &options = {});

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H
