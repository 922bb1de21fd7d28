//===- RowTransportTest.cpp - tests of the transport of rows --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/RowTransport.h"

#include "runtime/comm/inproc/InprocCommunicator.h"

#include <gtest/gtest.h>
#include <thread>

using namespace sluice;
using namespace sluice::engine;

namespace {

const NcclFinding one = {true, 22809, "gpu 1", ""};
const NcclFinding two = {true, 22809, "gpu 2", ""};
const NcclFinding older = {true, 21803, "gpu 3", ""};
const NcclFinding without = {true, 0, "gpu 4", "NCCL: cannot be opened"};
const NcclFinding headOnly = {};

std::string obstacle(const std::vector<NcclFinding> &all) {
  return ncclObstacle(all);
}

TEST(RowTransport, SaysWhyNotByNccl) {
  EXPECT_EQ(obstacle({one, two}), "");
  EXPECT_EQ(obstacle({one, two, one}), "ranks 0 and 2 share a GPU");
  EXPECT_EQ(obstacle({one, without, two}), "rank 1: NCCL: cannot be opened");
  EXPECT_EQ(obstacle({one, older}),
            "rank 0 has NCCL 2.28.9, and rank 1 2.18.3");
}

/// Such a rank has no GPU and needs no library.
TEST(RowTransport, RanksWithoutAStageAreNotAsked) {
  EXPECT_EQ(obstacle({headOnly, one, two}), "");
  EXPECT_EQ(obstacle({headOnly, headOnly, two}), "");
}

TEST(RowTransport, AllRanksGetOneAnswer) {
  for (const std::vector<NcclFinding> &all :
       {std::vector{headOnly, one, two}, {one, two, without}}) {
    auto job = comm::makeInprocJob(std::ssize(all));
    std::vector<std::string> answers(all.size());
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < all.size(); ++rank)
      threads.emplace_back([&, rank] {
        Expected<std::string> agreed = agreeOnNccl(*job[rank], all[rank]);
        answers[rank] = agreed ? *agreed : agreed.status().message();
      });
    for (std::thread &thread : threads)
      thread.join();
    for (const std::string &each : answers)
      EXPECT_EQ(each, ncclObstacle(all));
  }
}

} // namespace
