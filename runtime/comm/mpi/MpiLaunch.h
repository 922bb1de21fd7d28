//===- MpiLaunch.h - detects a launch by MPI ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds out whether and how an MPI launcher has started this process.
//
//   Expected<std::optional<MpiLaunch>> launch = detectMpiLaunch();
//   if (launch && *launch)
//     ... = connectMpi(**launch); // fills in what the launcher has not set
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_MPI_MPILAUNCH_H
#define SLUICE_RUNTIME_COMM_MPI_MPILAUNCH_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::comm {

enum class MpiFlavour : uint8_t { OpenMpi, Mpich };
/// Returns "Open MPI" or "MPICH".
std::string_view mpiFlavourName(MpiFlavour flavour);

/// How an MPI launcher has started this process.
struct MpiLaunch {
  MpiFlavour flavour = MpiFlavour::OpenMpi;
  int64_t rank = 0;
  int64_t size = 1;
  /// The number of this job's ranks on this machine, and this rank's number
  /// among them, from 0 in the order of ranks. Not set if the launcher does not
  /// say it.
  std::optional<int64_t> localSize, localRank;
  /// The shared library to open: a path, or a name that the loader searches.
  std::string library;
};

/// Reads from the environment whether an MPI launcher has started this process,
/// without opening any library. Returns nothing if the process was started by
/// hand, or by Slurm without MPI.
///
///   OMPI_COMM_WORLD_SIZE, _RANK                  mpirun of Open MPI
///     _LOCAL_SIZE, _LOCAL_RANK
///   PMI_SIZE, PMI_RANK                           mpirun of MPICH; srun
///     MPI_LOCALNRANKS, MPI_LOCALRANKID           --mpi=pmi2
///   PMIX_RANK with SLURM_NTASKS                  srun --mpi=pmix: Open MPI,
///                                                bound to cores by Slurm
///     SLURM_LOCALID, if SLURM_PROCID is the      either srun
///     rank
///   SLUICE_MPI=openmpi|mpich|none                overrides the detection
///   SLUICE_MPI_LIBRARY=PATH                      overrides the library
///
/// Errors: a variable with an invalid value, or SLUICE_MPI without a launcher.
/// `environment` replaces std::getenv if it is set.
Expected<std::optional<MpiLaunch>> detectMpiLaunch(
    const std::function<const char *(const char *)> &environment = {});

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_MPI_MPILAUNCH_H
