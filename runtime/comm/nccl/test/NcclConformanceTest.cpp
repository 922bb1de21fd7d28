//===- NcclConformanceTest.cpp - the conformance suite with rows ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the suite over threads and the fake NCCL: the ranks of one process have
// a device each, and rows travel by every way between them. No handle of NCCL
// or of a device may be left at the end.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/test/FakeNccl.h"
#include "runtime/comm/nccl/test/NcclJob.h"
#include "runtime/comm/nccl/test/RowsInPayloads.h"
#include "runtime/comm/nccl/test/ThreadDevice.h"
#include "runtime/comm/test/Conformance.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::comm::test;
using testing::HasSubstr;

namespace {

std::vector<Status> runOverFake(int64_t ranks, Status (*run)(Communicator &)) {
  FakeNccl::reset({});
  Expected<NcclLibrary> nccl = makeNccl(FakeNccl::functions());
  EXPECT_TRUE(nccl.ok());
  return runJob(ranks, [&](int64_t, std::unique_ptr<Communicator> base) {
    auto device = std::make_unique<ThreadDevice>();
    auto inner =
        connected(std::move(base), *nccl, device.get(), optionsForAll(ranks));
    if (!inner)
      return inner.status();
    auto comm = RowsInPayloads::make(std::move(device), inner.take());
    return comm ? run(**comm) : comm.status();
  });
}

template <typename Case> std::string caseName(const Case &info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class NcclConformance : public testing::TestWithParam<ConformanceCase> {};

TEST_P(NcclConformance, Holds) {
  std::vector<Status> results = runOverFake(GetParam().ranks, GetParam().run);
  for (size_t rank = 0; rank < results.size(); ++rank)
    EXPECT_TRUE(results[rank].ok())
        << "rank " << rank << ": " << results[rank].message();
  EXPECT_EQ(FakeNccl::open(), 0);
  EXPECT_EQ(FakeNccl::calls("ncclCommAbort"), 0) << "a good end aborts nothing";
}

INSTANTIATE_TEST_SUITE_P(, NcclConformance,
                         testing::ValuesIn(conformanceCases().begin(),
                                           conformanceCases().end()),
                         [](const auto &info) { return caseName(info); });

/// The suite's rows have travelled by NCCL, after the greeting of each way.
TEST(NcclSuite, RowsTravelByNccl) {
  auto found = std::find_if(conformanceCases().begin(),
                            conformanceCases().end(), [](const auto &each) {
                              return std::string(each.name) == "big-messages";
                            });
  ASSERT_NE(found, conformanceCases().end());
  runOverFake(2, found->run);
  EXPECT_EQ(FakeNccl::calls("ncclSend"), 6 + 4);
  EXPECT_EQ(FakeNccl::calls("ncclRecv"), 6 + 4);
}

class NcclFailure : public testing::TestWithParam<FailureCase> {};

TEST_P(NcclFailure, EndsAll) {
  std::vector<Status> results = runOverFake(GetParam().ranks, GetParam().run);
  for (size_t rank = 0; rank < results.size(); ++rank)
    if (rank != 1)
      EXPECT_THAT(results[rank].message(), HasSubstr(GetParam().reason))
          << "rank " << rank;
  EXPECT_EQ(FakeNccl::open(), 0);
  EXPECT_EQ(FakeNccl::calls("ncclCommRevoke"),
            FakeNccl::calls("ncclCommAbort"));
}

/// The cases in which rank 1 is neither stopped nor killed, which a thread
/// cannot be.
std::vector<FailureCase> casesForThreads() {
  std::vector<FailureCase> cases(failureCases().begin(), failureCases().end());
  std::erase_if(cases, [](const FailureCase &each) { return !each.inproc; });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(, NcclFailure, testing::ValuesIn(casesForThreads()),
                         [](const auto &info) { return caseName(info); });

} // namespace
