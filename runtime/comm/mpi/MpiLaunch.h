//===- MpiLaunch.h - how MPI has started this process ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<std::optional<MpiLaunch>> launch = detectMpiLaunch();
//   if (launch && *launch)
//     ... = connectMpi(**launch); // which also says what the launcher has not
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
/// "Open MPI", "MPICH".
std::string_view mpiFlavourName(MpiFlavour flavour);

/// How an MPI launcher has started this process.
struct MpiLaunch {
  MpiFlavour flavour = MpiFlavour::OpenMpi;
  int64_t rank = 0;
  int64_t size = 1;
  /// Ranks of the job on this machine, and which of them this one is, counted
  /// from 0 in the order of their ranks; where the launcher has said so.
  std::optional<int64_t> localSize, localRank;
  /// The shared library to open, a path or a name that the loader searches.
  std::string library;
};

/// Reads from the environment whether an MPI launcher has started this process,
/// without opening anything. Nothing where it was started by hand, or by Slurm
/// without MPI.
///
///   OMPI_COMM_WORLD_SIZE, _RANK                  mpirun of Open MPI
///     _LOCAL_SIZE, _LOCAL_RANK
///   PMI_SIZE, PMI_RANK                           mpirun of MPICH; srun
///     MPI_LOCALNRANKS, MPI_LOCALRANKID           --mpi=pmi2
///   PMIX_RANK with SLURM_NTASKS                  srun --mpi=pmix: Open MPI,
///                                                binds as Slurm is told to
///     SLURM_LOCALID, if SLURM_PROCID is the      either srun
///     rank
///   SLUICE_MPI=openmpi|mpich|none                overrides the guess
///   SLUICE_MPI_LIBRARY=PATH                      overrides the library
///
/// Errors: a value that is not what it should be, or SLUICE_MPI where no
/// launcher is seen. `environment` stands in for std::getenv.
Expected<std::optional<MpiLaunch>> detectMpiLaunch(
    const std::function<const char *(const char *)> &environment = {});

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_MPI_MPILAUNCH_H
