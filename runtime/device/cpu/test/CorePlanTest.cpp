//===- CorePlanTest.cpp - the number of threads and their cores -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeSys.h"

#include "runtime/device/cpu/CorePlan.h"

#include <gmock/gmock.h>
#include <numeric>

using namespace sluice;
using namespace sluice::cpu;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

using Places = std::vector<ProcessorSet>;

ProcessorSet upTo(int32_t count) {
  ProcessorSet all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Two sockets of four cores with two hyperthreads each: cores 0 to 3 are the
/// processors 0 and 8, 1 and 9, ...; those of the other socket are 4 and 12,
/// ...
class TwoSockets : public testing::Test {
protected:
  TwoSockets() {
    for (int processor = 0; processor < 16; ++processor)
      sys.addProcessor(processor, processor % 8 / 4, processor % 4,
                       processor % 8 / 4);
  }
  Topology of(const ProcessorSet &allowed) const {
    return Topology::read(allowed, sys.root());
  }

  FakeSys sys;
  ProcessorSet all = upTo(16);
};

Places place(const Topology &topology, CoreShare share, int64_t threads,
             Pinning pinning) {
  Expected<Places> places = placeThreads(topology, share, threads, pinning);
  EXPECT_TRUE(places.status().ok()) << places.status().message();
  return places ? *places : Places();
}

std::string obstacle(const Topology &topology, CoreShare share, int64_t threads,
                     Pinning pinning = Pinning::On) {
  return placeThreads(topology, share, threads, pinning).status().message();
}

//===----------------------------------------------------------------------===//
// The number of threads
//===----------------------------------------------------------------------===//

TEST_F(TwoSockets, AThreadForEachCore) {
  EXPECT_EQ(defaultThreadCount(of(all)), 8);
  EXPECT_EQ(defaultThreadCount(of({0, 1, 8})), 2);
  EXPECT_EQ(defaultThreadCount(of({9})), 1);
}

TEST_F(TwoSockets, SharersHaveAPartEach) {
  EXPECT_EQ(defaultThreadCount(of(all), {1, 2}), 4);
  EXPECT_EQ(defaultThreadCount(of(all), {0, 3}), 2);
  EXPECT_EQ(defaultThreadCount(of(all), {0, 30}), 1);
}

TEST_F(TwoSockets, TheQuotaIsALimit) {
  sys.setQuota("250000 100000");
  EXPECT_EQ(defaultThreadCount(of(all)), 3);
  EXPECT_EQ(defaultThreadCount(of(all), {0, 2}), 1);
  EXPECT_EQ(defaultThreadCount(of({0, 1})), 2);
}

//===----------------------------------------------------------------------===//
// The sharing of cores
//===----------------------------------------------------------------------===//

void expectShare(const std::vector<Tenant> &tenants, size_t self, int64_t index,
                 int64_t count, bool isExclusive = true) {
  CoreShare share = shareOf(tenants, self);
  EXPECT_EQ(share.index, index) << self;
  EXPECT_EQ(share.count, count) << self;
  EXPECT_EQ(share.isExclusive, isExclusive) << self;
}

TEST(CoreShareTest, UnboundRanksOfAMachineShareIt) {
  std::vector<Tenant> tenants = {
      {"a", upTo(8)}, {"b", upTo(8)}, {"a", upTo(8)}, {"a", upTo(8)}};
  expectShare(tenants, 0, 0, 3);
  expectShare(tenants, 1, 0, 1);
  expectShare(tenants, 2, 1, 3);
  expectShare(tenants, 3, 2, 3);
}

TEST(CoreShareTest, BoundRanksHaveWhatTheyAreBoundTo) {
  // mpirun --bind-to socket, two ranks on each.
  std::vector<Tenant> tenants = {
      {"a", {0, 1}}, {"a", {0, 1}}, {"a", {2, 3}}, {"a", {2, 3}}};
  expectShare(tenants, 0, 0, 2);
  expectShare(tenants, 1, 1, 2);
  expectShare(tenants, 2, 0, 2);
  expectShare(tenants, 3, 1, 2);
}

TEST(CoreShareTest, MasksThatLieAcrossEachOther) {
  std::vector<Tenant> tenants = {{"a", {0, 1}}, {"a", {1, 2}}, {"a", {3}}};
  expectShare(tenants, 0, 0, 2, false);
  expectShare(tenants, 1, 1, 2, false);
  expectShare(tenants, 2, 0, 1);
}

//===----------------------------------------------------------------------===//
// The places of threads
//===----------------------------------------------------------------------===//

TEST_F(TwoSockets, EachThreadHasACore) {
  EXPECT_THAT(place(of(all), {}, 8, Pinning::Auto),
              ElementsAre(ElementsAre(0, 8), ElementsAre(1, 9),
                          ElementsAre(2, 10), ElementsAre(3, 11),
                          ElementsAre(4, 12), ElementsAre(5, 13),
                          ElementsAre(6, 14), ElementsAre(7, 15)));
}

TEST_F(TwoSockets, AMaskIsRespected) {
  EXPECT_THAT(place(of({2, 5, 13}), {}, 2, Pinning::Auto),
              ElementsAre(ElementsAre(2), ElementsAre(5, 13)));
}

/// With two ranks, each is on one socket, and shares no cache or memory with
/// the other.
TEST_F(TwoSockets, RanksHaveCoresOfTheirOwn) {
  EXPECT_THAT(place(of(all), {0, 2}, 4, Pinning::Auto),
              ElementsAre(ElementsAre(0, 8), ElementsAre(1, 9),
                          ElementsAre(2, 10), ElementsAre(3, 11)));
  EXPECT_THAT(place(of(all), {1, 2}, 4, Pinning::Auto),
              ElementsAre(ElementsAre(4, 12), ElementsAre(5, 13),
                          ElementsAre(6, 14), ElementsAre(7, 15)));
}

/// No processor is in two teams, for any number of teams.
TEST_F(TwoSockets, NoCoreIsTwoTeams) {
  for (int64_t ranks = 1; ranks <= 8; ++ranks)
    for (int64_t teams = 1; teams * ranks <= 8; ++teams) {
      Topology topology = of(all);
      int64_t threads = 8 / (ranks * teams);
      ProcessorSet used;
      for (int64_t rank = 0; rank < ranks; ++rank)
        for (int64_t team = 0; team < teams; ++team) {
          CoreShare share = CoreShare{rank, ranks}.part(team, teams);
          Places places = place(topology, share, threads, Pinning::Auto);
          EXPECT_EQ(int64_t(places.size()), threads);
          for (const ProcessorSet &set : places)
            used.insert(used.end(), set.begin(), set.end());
        }
      std::sort(used.begin(), used.end());
      EXPECT_EQ(std::adjacent_find(used.begin(), used.end()), used.end())
          << ranks << " ranks of " << teams << " teams";
    }
}

TEST_F(TwoSockets, HyperthreadsComeAfterCores) {
  EXPECT_THAT(place(of({0, 1, 2, 8, 9}), {}, 5, Pinning::On),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2),
                          ElementsAre(8), ElementsAre(9)));
}

TEST_F(TwoSockets, FewerThreadsThanCoresArePinnedWhereAskedFor) {
  EXPECT_THAT(place(of(all), {}, 2, Pinning::Auto), IsEmpty());
  EXPECT_THAT(place(of(all), {}, 2, Pinning::On),
              ElementsAre(ElementsAre(0, 8), ElementsAre(1, 9)));
  EXPECT_THAT(place(of(all), {}, 8, Pinning::Off), IsEmpty());
}

/// Other containers may use the same cores.
TEST_F(TwoSockets, UnderAQuotaTheKernelChooses) {
  sys.setQuota("400000 100000");
  Topology topology = of(all);
  EXPECT_THAT(place(topology, {}, defaultThreadCount(topology), Pinning::Auto),
              IsEmpty());
}

TEST_F(TwoSockets, OneCoreIsNoChoice) {
  EXPECT_THAT(place(of({3, 11}), {}, 1, Pinning::Auto), IsEmpty());
}

TEST_F(TwoSockets, MoreThreadsThanProcessors) {
  EXPECT_THAT(place(of(all), {}, 17, Pinning::Auto), IsEmpty());
  EXPECT_EQ(obstacle(of(all), {}, 17),
            "17 threads are more than 16 processors take");
  EXPECT_EQ(obstacle(of({5}), {}, 2),
            "2 threads are more than 1 processor takes");
  // Either all teams of a process fit or none does: of 8 cores the third of
  // three teams has 3.
  EXPECT_EQ(obstacle(of(upTo(8)), {2, 3}, 3),
            "3 teams of 3 threads are more than 8 processors take");
}

TEST_F(TwoSockets, RanksThatLieAcrossEachOther) {
  CoreShare share = {0, 2, /*isExclusive=*/false};
  EXPECT_THAT(place(of(all), share, 4, Pinning::Auto), IsEmpty());
  EXPECT_EQ(obstacle(of(all), share, 4),
            "another rank of this machine may run on some of the same "
            "processors, but not on all");
}

} // namespace
