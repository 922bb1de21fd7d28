//===- FakeNcclLibrary.cpp - the fake NCCL as a shared library ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fake NCCL as a shared library, which test executables open in place of
// NVIDIA's: SLUICE_NCCL_LIBRARY names it. It serves ranks of one process whose
// GPUs are emulated. Environment variables plant faults:
//
//   SLUICE_FAKE_NCCL_STUCK=N   the N-th transfer of each way never begins
//   SLUICE_FAKE_NCCL_LOST=N    at the N-th transfer of each way, its sender is
//                              told that a rank is lost
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/test/FakeNccl.h"

#include <cstdlib>

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::comm::test;

static int numberOf(const char *variable) {
  const char *text = std::getenv(variable);
  return text ? std::atoi(text) : -1;
}

static const NcclFunctions &fake() {
  static const NcclFunctions functions = [] {
    FakeNccl::Faults faults;
    faults.stuckTransfer = numberOf("SLUICE_FAKE_NCCL_STUCK");
    faults.lostTransfer = numberOf("SLUICE_FAKE_NCCL_LOST");
    FakeNccl::reset(faults);
    return FakeNccl::functions();
  }();
  return functions;
}

extern "C" {

NcclResult ncclGetVersion(int *version) { return fake().getVersion(version); }
NcclResult ncclGetUniqueId(NcclUniqueId *id) { return fake().getUniqueId(id); }
NcclResult ncclCommInitRankConfig(NcclComm *comm, int ranks, NcclUniqueId id,
                                  int rank, NcclConfig *config) {
  return fake().commInitRankConfig(comm, ranks, id, rank, config);
}
NcclResult ncclCommFinalize(NcclComm comm) { return fake().commFinalize(comm); }
NcclResult ncclCommDestroy(NcclComm comm) { return fake().commDestroy(comm); }
NcclResult ncclCommRevoke(NcclComm comm, int flags) {
  return fake().commRevoke(comm, flags);
}
NcclResult ncclCommAbort(NcclComm comm) { return fake().commAbort(comm); }
NcclResult ncclCommGetAsyncError(NcclComm comm, NcclResult *error) {
  return fake().commGetAsyncError(comm, error);
}
const char *ncclGetErrorString(NcclResult result) {
  return fake().getErrorString(result);
}
const char *ncclGetLastError(NcclComm comm) {
  return fake().getLastError(comm);
}
NcclResult ncclGroupStart() { return fake().groupStart(); }
NcclResult ncclGroupEnd() { return fake().groupEnd(); }
NcclResult ncclSend(const void *from, size_t count, int type, int peer,
                    NcclComm comm, cuda::Stream stream) {
  return fake().send(from, count, type, peer, comm, stream);
}
NcclResult ncclRecv(void *to, size_t count, int type, int peer, NcclComm comm,
                    cuda::Stream stream) {
  return fake().recv(to, count, type, peer, comm, stream);
}

} // extern "C"
