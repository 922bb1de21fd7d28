//===- NcclLibrary.cpp - opens libnccl ------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclLibrary.h"

#include "runtime/base/SharedLibrary.h"

#include <cstdlib>
#include <string_view>

using namespace sluice;
using namespace sluice::comm;

std::string comm::ncclVersionText(int version) {
  std::ostringstream text;
  text << version / 10000 << '.' << version / 100 % 100 << '.' << version % 100;
  return text.str();
}

Status NcclLibrary::check(const char *call, NcclResult result,
                          NcclComm comm) const {
  if (result == NcclResult::Success || result == NcclResult::InProgress)
    return {};
  const char *meaning = functions.getErrorString(result);
  const char *last = functions.getLastError(comm);
  std::string_view said = last ? last : "";
  return failure("NCCL: ", call, ": ", meaning ? meaning : "unknown error",
                 said.empty() ? "" : ": ", said);
}

namespace {

Status load(const SharedLibrary &library, NcclFunctions &functions) {
  Status status;
  auto find = [&](const char *name, auto &function, bool optional = false) {
    Status found = library.find(name, function);
    if (!optional && status.ok())
      status = found;
  };
  find("ncclGetVersion", functions.getVersion);
  find("ncclGetUniqueId", functions.getUniqueId);
  find("ncclCommInitRankConfig", functions.commInitRankConfig);
  find("ncclCommFinalize", functions.commFinalize);
  find("ncclCommDestroy", functions.commDestroy);
  find("ncclCommRevoke", functions.commRevoke, /*optional=*/true);
  find("ncclCommAbort", functions.commAbort);
  find("ncclCommGetAsyncError", functions.commGetAsyncError);
  find("ncclGetErrorString", functions.getErrorString);
  find("ncclGetLastError", functions.getLastError);
  find("ncclGroupStart", functions.groupStart);
  find("ncclGroupEnd", functions.groupEnd);
  find("ncclSend", functions.send);
  find("ncclRecv", functions.recv);
  return status;
}

} // namespace

Expected<NcclLibrary> comm::makeNccl(const NcclFunctions &functions) {
  NcclLibrary library;
  library.functions = functions;
  NcclResult result = functions.getVersion(&library.version);
  SLUICE_RETURN_IF_ERROR(library.check("ncclGetVersion", result));
  if (library.version < ncclOldestVersion || library.version >= 30000)
    return failure("NCCL: version ", ncclVersionText(library.version),
                   "; needed is ", ncclVersionText(ncclOldestVersion),
                   " or a later 2.x");
  return library;
}

Expected<NcclLibrary> comm::openNccl(const std::string &path) {
  const char *variable = std::getenv("SLUICE_NCCL_LIBRARY");
  std::string name = !path.empty() ? path
                     : variable    ? variable
                                   : "libnccl.so.2";
  Expected<SharedLibrary> library = SharedLibrary::open(name);
  if (!library)
    return library.status().withContext("NCCL: cannot be opened");
  NcclFunctions functions;
  if (Status s = load(*library, functions); !s.ok())
    return s.withContext("NCCL: " + name);
  return makeNccl(functions);
}
