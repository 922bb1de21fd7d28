//===- MpiLibrary.cpp - opens the MPI library of a launch -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/mpi/MpiLibrary.h"

using namespace sluice;
using namespace sluice::comm;

Expected<std::unique_ptr<MpiLibrary>>
comm::openMpiLibrary(const MpiLaunch &launch) {
#ifdef SLUICE_HAS_OPENMPI
  if (launch.flavour == MpiFlavour::OpenMpi)
    return openOpenMpi(launch.library);
#endif
#ifdef SLUICE_HAS_MPICH
  if (launch.flavour == MpiFlavour::Mpich)
    return openMpich(launch.library);
#endif
  return failure("MPI: launched by ", mpiFlavourName(launch.flavour),
                 ", but built without its mpi.h");
}
