//===- NcclLibrary.h - the calls of NCCL that are used --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<NcclLibrary> nccl = openNccl();
//   NcclResult result = nccl->functions.getUniqueId(&id);
//   if (Status s = nccl->check("ncclGetUniqueId", result); !s.ok()) ...
//
// libnccl is opened at run time, so what is used of nccl.h is declared here,
// with its numbers and layouts; test/NcclHeaderTest.cpp compares them with the
// header where that is installed.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_NCCLLIBRARY_H
#define SLUICE_RUNTIME_COMM_NCCL_NCCLLIBRARY_H

#include "runtime/base/Status.h"
#include "runtime/device/cuda/driver/Driver.h"

#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice::comm {

/// How long a transfer between two ranks or an exchange of a group may take:
/// then one of them is taken for lost. Long enough for threads that wait for a
/// core of a busy machine.
inline constexpr std::chrono::milliseconds ncclPatience{10000};

/// An ncclComm_t.
using NcclComm = struct NcclCommHandle *;

/// ncclResult_t.
enum class NcclResult : int {
  Success = 0,
  UnhandledCudaError = 1,
  SystemError = 2,
  InternalError = 3,
  InvalidArgument = 4,
  InvalidUsage = 5,
  RemoteError = 6,
  InProgress = 7
};

/// ncclDataType_t: everything travels as bytes.
constexpr int ncclBytes = 1;

/// ncclUniqueId.
struct NcclUniqueId {
  char bytes[128] = {};
};

/// ncclConfig_t as of NCCL 2.18, which later libraries read by its `version`.
/// Undefined numbers are the library's choice.
struct NcclConfig {
  static constexpr int undefined = INT_MIN;
  size_t size = sizeof(NcclConfig);
  unsigned int magic = 0xcafebeef;
  unsigned int version = 21800;
  int blocking = undefined;
  int cgaClusterSize = undefined;
  int minBlocks = undefined;
  int maxBlocks = undefined;
  const char *network = nullptr;
  int splitShare = undefined;
  int padding = undefined; ///< later libraries have a number here
};
static_assert(sizeof(NcclConfig) == 48);

/// NCCL's functions. Streams are the driver's own.
struct NcclFunctions {
  NcclResult (*getVersion)(int *version) = nullptr;
  NcclResult (*getUniqueId)(NcclUniqueId *id) = nullptr;
  NcclResult (*commInitRankConfig)(NcclComm *comm, int ranks, NcclUniqueId id,
                                   int rank, NcclConfig *config) = nullptr;
  NcclResult (*commFinalize)(NcclComm comm) = nullptr;
  NcclResult (*commDestroy)(NcclComm comm) = nullptr;
  /// Null where the library has none, as those before 2.28.
  NcclResult (*commRevoke)(NcclComm comm, int flags) = nullptr;
  NcclResult (*commAbort)(NcclComm comm) = nullptr;
  NcclResult (*commGetAsyncError)(NcclComm comm, NcclResult *error) = nullptr;
  const char *(*getErrorString)(NcclResult result) = nullptr;
  const char *(*getLastError)(NcclComm comm) = nullptr;
  NcclResult (*groupStart)() = nullptr;
  NcclResult (*groupEnd)() = nullptr;
  NcclResult (*send)(const void *from, size_t count, int type, int peer,
                     NcclComm comm, cuda::Stream stream) = nullptr;
  NcclResult (*recv)(void *to, size_t count, int type, int peer, NcclComm comm,
                     cuda::Stream stream) = nullptr;
};

/// The oldest NCCL that will do: it has ncclConfig_t as above, and nonblocking
/// communicators whose state can be asked for.
constexpr int ncclOldestVersion = 21800;
/// Since this one several ranks can be on one GPU.
constexpr int ncclSharedGpuVersion = 23000;

/// An opened library, which stays open to the process's end. Copies are the
/// same one. Thread-safe, as far as NCCL is.
struct NcclLibrary {
  NcclFunctions functions;
  int version = 0; ///< 22809 is 2.28.9

  /// Success also for what is in progress. Errors: "ncclSend: NCCL's text for
  /// the result: what NCCL has last said of `comm`".
  Status check(const char *call, NcclResult result,
               NcclComm comm = nullptr) const;
};

/// "2.28.9"
std::string ncclVersionText(int version);

/// Opens `path`, or where it is empty SLUICE_NCCL_LIBRARY or what the system's
/// loader finds as libnccl.so.2. Errors: it is not there, lacks a function, or
/// is older than ncclOldestVersion or of another major version.
Expected<NcclLibrary> openNccl(const std::string &path = {});

/// The same with functions that are here already: asks for the version.
Expected<NcclLibrary> makeNccl(const NcclFunctions &functions);

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLLIBRARY_H
