//===- NcclLibrary.h - the NCCL functions that are used -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of NCCL that the runtime uses:
//
//   Expected<NcclLibrary> nccl = openNccl();
//   NcclResult result = nccl->functions.getUniqueId(&id);
//   if (Status s = nccl->check("ncclGetUniqueId", result); !s.ok()) ...
//
// libnccl is opened at run time, so the used parts of nccl.h are declared here,
// with their numbers and layouts. test/NcclHeaderTest.cpp compares them with
// the header if it is installed.
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

/// How long a transfer between two ranks or an exchange of a group may take
/// before a rank counts as lost. It is long enough for threads that wait for a
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

/// ncclDataType_t of bytes: everything travels as bytes.
constexpr int ncclBytes = 1;

/// ncclUniqueId.
struct NcclUniqueId {
  char bytes[128] = {};
};

/// ncclConfig_t as of NCCL 2.18, which later libraries recognize by `version`.
/// The library chooses the numbers that are `undefined`.
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

/// The functions of NCCL. Streams are those of the CUDA driver.
struct NcclFunctions {
  NcclResult (*getVersion)(int *version) = nullptr;
  NcclResult (*getUniqueId)(NcclUniqueId *id) = nullptr;
  NcclResult (*commInitRankConfig)(NcclComm *comm, int ranks, NcclUniqueId id,
                                   int rank, NcclConfig *config) = nullptr;
  NcclResult (*commFinalize)(NcclComm comm) = nullptr;
  NcclResult (*commDestroy)(NcclComm comm) = nullptr;
  /// Null if the library lacks it, as libraries before 2.28 do.
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

/// The oldest NCCL that is supported: it has ncclConfig_t as above, and
/// nonblocking communicators whose state can be queried.
constexpr int ncclOldestVersion = 21800;
/// The oldest NCCL that allows several ranks on one GPU.
constexpr int ncclSharedGpuVersion = 23000;

/// An opened library, which stays open until the process ends. Copies refer to
/// the same library. As thread-safe as NCCL is.
struct NcclLibrary {
  NcclFunctions functions;
  int version = 0; ///< 22809 is 2.28.9

  /// Returns success for Success and InProgress. The text of an error is
  /// "ncclSend: NCCL's text for the result: the last error that NCCL reports
  /// for `comm`".
  Status check(const char *call, NcclResult result,
               NcclComm comm = nullptr) const;
};

/// Returns for example "2.28.9".
std::string ncclVersionText(int version);

/// Opens `path`; if it is empty, SLUICE_NCCL_LIBRARY, or else what the system's
/// loader finds as libnccl.so.2. Errors: the library is missing, lacks a
/// function, is older than ncclOldestVersion or has another major version.
Expected<NcclLibrary> openNccl(const std::string &path = {});

/// Like openNccl(), but with functions that are already loaded: queries only
/// the version.
Expected<NcclLibrary> makeNccl(const NcclFunctions &functions);

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLLIBRARY_H
