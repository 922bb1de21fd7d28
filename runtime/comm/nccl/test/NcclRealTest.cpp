//===- NcclRealTest.cpp - the conformance suite over NVIDIA's NCCL --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Skipped, with the reason, if there is no GPU or no libnccl. NCCL before 2.30
// allows one rank on a GPU, so only the cases that a single rank can run are
// run, in which it sends rows to itself. From 2.30 on, the cases of two ranks
// are run as well.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/test/NcclJob.h"
#include "runtime/comm/nccl/test/RowsInPayloads.h"
#include "runtime/comm/test/Conformance.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string_view>

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::comm::test;

namespace {

/// The cases that hold for any number of ranks.
constexpr std::string_view playableAlone[] = {
    "all-pairs-in-order", "many-small-messages", "finish-loses-nothing",
    "refuses-bad-messages"};

int64_t ranksHere(const ConformanceCase &which, int version) {
  if (which.ranks <= 2 && version >= ncclSharedGpuVersion)
    return which.ranks;
  return std::ranges::find(playableAlone, which.name) != std::end(playableAlone)
             ? 1
             : 0;
}

class NcclReal : public testing::TestWithParam<ConformanceCase> {};

TEST_P(NcclReal, Holds) {
  // Set before the library reads it.
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", /*overwrite=*/0);
  Expected<NcclLibrary> nccl = openNccl();
  if (!nccl)
    GTEST_SKIP() << nccl.status().message();
  Expected<std::unique_ptr<cuda::Driver>> driver = cuda::openDriver();
  if (!driver)
    GTEST_SKIP() << driver.status().message();
  int64_t ranks = ranksHere(GetParam(), nccl->version);
  if (ranks == 0)
    GTEST_SKIP() << "NCCL " << ncclVersionText(nccl->version)
                 << " has one rank on a GPU, and the case " << GetParam().ranks;
  std::vector<Status> results =
      runJob(ranks, [&](int64_t, std::unique_ptr<Communicator> base) -> Status {
        Expected<std::unique_ptr<cuda::Device>> device = (*driver)->open(0);
        if (!device)
          return device.status();
        auto inner = connected(std::move(base), *nccl, device->get(),
                               optionsForAll(ranks));
        if (!inner)
          return inner.status();
        auto comm = RowsInPayloads::make(device.take(), inner.take());
        return comm ? GetParam().run(**comm) : comm.status();
      });
  for (size_t rank = 0; rank < results.size(); ++rank)
    EXPECT_TRUE(results[rank].ok())
        << "rank " << rank << ": " << results[rank].message();
}

INSTANTIATE_TEST_SUITE_P(, NcclReal,
                         testing::ValuesIn(conformanceCases().begin(),
                                           conformanceCases().end()),
                         [](const auto &info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
