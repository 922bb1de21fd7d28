//===- CpuTeamTest.cpp - the threads that compute on a CPU ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/CpuTeam.h"

#include "runtime/comm/inproc/InprocCommunicator.h"

#include <gmock/gmock.h>
#include <thread>

using namespace sluice;
using namespace sluice::engine;
using cpu::Pinning;
using cpu::ProcessorSet;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

TEST(CpuTeam, ProcessorsAsText) {
  EXPECT_EQ(toText({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(toText({}), "");
  for (const ProcessorSet &set :
       {ProcessorSet{}, ProcessorSet{7}, ProcessorSet{0, 1, 2, 3, 8, 10, 11}})
    EXPECT_EQ(processorsOf(toText(set)), set);
}

/// A rank of another version may send any text.
TEST(CpuTeam, WhatIsNoListEndsIt) {
  EXPECT_THAT(processorsOf("1,2,"), ElementsAre(1, 2));
  EXPECT_THAT(processorsOf("1,3-2"), ElementsAre(1));
  EXPECT_THAT(processorsOf("4,4"), ElementsAre(4));
  EXPECT_THAT(processorsOf("1x,2"), ElementsAre(1));
  EXPECT_THAT(processorsOf("0-99999999999"), IsEmpty());
  EXPECT_THAT(processorsOf("0-9999999"), IsEmpty());
  EXPECT_THAT(processorsOf("-3"), IsEmpty());
  EXPECT_THAT(processorsOf("all"), IsEmpty());
}

TEST(CpuTeam, RanksThatAreProcessesShareTheirMachine) {
  const std::vector<cpu::Tenant> tenants = {{"a", {0, 1, 2, 3}},
                                            {"b", {0, 1, 2, 3}},
                                            {"a", {0, 1, 2, 3}},
                                            {"b", {0, 1}}};
  auto job = comm::makeInprocJob(std::ssize(tenants));
  std::vector<Expected<cpu::CoreShare>> shares(tenants.size(),
                                               cpu::CoreShare());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < job.size(); ++rank)
    threads.emplace_back(
        [&, rank] { shares[rank] = shareCores(*job[rank], tenants[rank]); });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t rank = 0; rank < tenants.size(); ++rank) {
    ASSERT_TRUE(shares[rank].ok()) << shares[rank].status().message();
    EXPECT_EQ(shares[rank]->index, int64_t(rank) / 2) << rank;
    EXPECT_EQ(shares[rank]->count, 2) << rank;
    EXPECT_EQ(shares[rank]->isExclusive, rank % 2 == 0) << rank;
  }
}

TEST(CpuTeam, PartsAreOfThreadsAndOfCores) {
  CpuTeam team;
  team.threads = 5;
  team.share = {1, 2};
  CpuTeam second = team.part(1, 2);
  EXPECT_EQ(second.threads, 2);
  EXPECT_EQ(second.share.index, 3);
  EXPECT_EQ(second.share.count, 4);
  EXPECT_FALSE(second.saysObstacle);
  EXPECT_TRUE(team.part(0, 2).saysObstacle);
  EXPECT_EQ(team.part(0, 9).threads, 1);
}

/// Returns the note that the team writes.
std::string noteOf(const CpuTeam &team, bool isPinned) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(team.makePool()->isPinned(), isPinned);
  return testing::internal::GetCapturedStderr();
}

TEST(CpuTeam, OnlyWhoAsksForPinsHearsThatThereAreNone) {
  auto processors = int64_t(cpu::Topology::read().processors().size());
  CpuTeam team;
  team.threads = 1;
  team.pinning = Pinning::On;
  EXPECT_EQ(noteOf(team, /*isPinned=*/true), "");
  team.threads = processors + 1;
  EXPECT_THAT(noteOf(team, false),
              HasSubstr("--cpu-pin on: threads are not pinned: " +
                        std::to_string(processors + 1) +
                        " threads are more than "));
  team.saysObstacle = false;
  EXPECT_EQ(noteOf(team, false), "");
  team.saysObstacle = true;
  for (Pinning quiet : {Pinning::Auto, Pinning::Off}) {
    team.pinning = quiet;
    EXPECT_EQ(noteOf(team, false), "");
  }
}

TEST(CpuTeam, AThreadForEachCoreIsPinnedUnasked) {
  cpu::Topology topology = cpu::Topology::read();
  if (topology.cores().size() < 2 || topology.quota())
    GTEST_SKIP() << "the kernel has nothing to choose here";
  CpuTeam team;
  team.pinning = Pinning::Auto;
  EXPECT_EQ(noteOf(team, /*isPinned=*/true), "");
  team.pinning = Pinning::Off;
  EXPECT_EQ(noteOf(team, /*isPinned=*/false), "");
}

} // namespace
