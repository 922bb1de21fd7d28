//===- MpiCommunicator.h - ranks as processes under MPI -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<std::unique_ptr<Communicator>> comm = connectMpi(launch);
//
// One thread makes all calls of MPI. Data goes out by synchronous sends, at
// most `capacity` of them outstanding to a rank, and is matched only while
// there is room for it, so that what nobody has taken stays with its sender.
// Control messages travel on a communicator of their own, and are looked for
// first.
//
// A rank sends a heartbeat to each other one, and takes one that has been
// silent for too long for lost. The launcher notices a rank that dies;
// heartbeats notice one that has stopped, or a machine that is out of reach.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H
#define SLUICE_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/mpi/MpiLaunch.h"

#include <memory>

namespace sluice::comm {

/// This process's end of the job that `launch` is part of; once in a process.
/// Waits until all ranks have called it. Before the process has other threads:
/// libraries that MPI opens may write over functions of the C library.
///
/// A job ends with finish(). abort(), or going away without finish(), ends all
/// processes with status 1: after the others have been told and had a moment to
/// say so, this process is ended within MPI_Abort, also from the destructor.
///
/// Fills in `launch`'s place among the ranks on this machine where the launcher
/// has not said it.
///
/// Errors: the library is missing or another MPI, MPI's own, or ranks and size
/// that are not those of the launch.
Expected<std::unique_ptr<Communicator>>
connectMpi(MpiLaunch &launch, const CommunicatorOptions &options = {});

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H
