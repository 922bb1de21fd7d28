//===- NcclHeaderTest.cpp - our declarations compared with nccl.h ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled only if nccl.h is installed.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclLibrary.h"

#include <nccl.h>

#include <gtest/gtest.h>

using namespace sluice::comm;

namespace {

template <typename Ours> constexpr int number(Ours ours) {
  return static_cast<int>(ours);
}

static_assert(number(NcclResult::Success) == ncclSuccess);
static_assert(number(NcclResult::UnhandledCudaError) == ncclUnhandledCudaError);
static_assert(number(NcclResult::SystemError) == ncclSystemError);
static_assert(number(NcclResult::InternalError) == ncclInternalError);
static_assert(number(NcclResult::InvalidArgument) == ncclInvalidArgument);
static_assert(number(NcclResult::InvalidUsage) == ncclInvalidUsage);
static_assert(number(NcclResult::RemoteError) == ncclRemoteError);
static_assert(number(NcclResult::InProgress) == ncclInProgress);
static_assert(sizeof(NcclResult) == sizeof(ncclResult_t));
static_assert(ncclBytes == ncclUint8 && sizeof(int) == sizeof(ncclDataType_t));
static_assert(sizeof(NcclUniqueId) == sizeof(ncclUniqueId));
static_assert(NcclConfig::undefined == NCCL_CONFIG_UNDEF_INT);

#define SAME_PLACE(ours, theirs)                                               \
  static_assert(offsetof(NcclConfig, ours) == offsetof(ncclConfig_t, theirs))
SAME_PLACE(size, size);
SAME_PLACE(magic, magic);
SAME_PLACE(version, version);
SAME_PLACE(blocking, blocking);
SAME_PLACE(cgaClusterSize, cgaClusterSize);
SAME_PLACE(minBlocks, minCTAs);
SAME_PLACE(maxBlocks, maxCTAs);
SAME_PLACE(network, netName);
SAME_PLACE(splitShare, splitShare);

/// Equal for functions with the same number of parameters of the same sizes.
template <typename> struct Shape;
template <typename Result, typename... Arguments>
struct Shape<Result (*)(Arguments...)> {
  static constexpr std::array<size_t, sizeof...(Arguments) + 1> sizes{
      sizeof(Result), sizeof(Arguments)...};
};

#define SAME_SHAPE(ours, theirs)                                               \
  static_assert(Shape<decltype(NcclFunctions::ours)>::sizes ==                 \
                Shape<decltype(&theirs)>::sizes)
SAME_SHAPE(getVersion, ncclGetVersion);
SAME_SHAPE(getUniqueId, ncclGetUniqueId);
SAME_SHAPE(commInitRankConfig, ncclCommInitRankConfig);
SAME_SHAPE(commFinalize, ncclCommFinalize);
SAME_SHAPE(commDestroy, ncclCommDestroy);
SAME_SHAPE(commAbort, ncclCommAbort);
SAME_SHAPE(commGetAsyncError, ncclCommGetAsyncError);
SAME_SHAPE(getErrorString, ncclGetErrorString);
SAME_SHAPE(getLastError, ncclGetLastError);
SAME_SHAPE(groupStart, ncclGroupStart);
SAME_SHAPE(groupEnd, ncclGroupEnd);
SAME_SHAPE(send, ncclSend);
SAME_SHAPE(recv, ncclRecv);
#if NCCL_VERSION_CODE >= 22809
SAME_SHAPE(commRevoke, ncclCommRevoke);
#endif

TEST(NcclHeader, InitializerIsOurs) {
  ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  NcclConfig ours;
  EXPECT_EQ(theirs.magic, ours.magic);
  EXPECT_EQ(theirs.blocking, ours.blocking);
  EXPECT_EQ(theirs.splitShare, ours.splitShare);
  EXPECT_EQ(theirs.trafficClass, ours.padding);
  EXPECT_LE(sizeof(ours), sizeof(theirs));
}

} // namespace
