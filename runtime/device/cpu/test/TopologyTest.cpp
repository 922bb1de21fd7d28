//===- TopologyTest.cpp - the cores that this process may use -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeSys.h"

#include "runtime/device/cpu/Topology.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <thread>

using namespace sluice::cpu;
using testing::ElementsAre;

namespace {

TEST(AffinityTest, AMaskIsWhatTheKernelSays) {
  cpu_set_t mask;
  ASSERT_EQ(::sched_getaffinity(0, sizeof mask, &mask), 0);
  ProcessorSet set = AffinityMask::ofThisThread().processors();
  EXPECT_EQ(int(set.size()), CPU_COUNT(&mask));
  for (int32_t processor : set)
    EXPECT_TRUE(CPU_ISSET(processor, &mask)) << processor;
}

TEST(AffinityTest, AThreadTakesAMaskAndGivesItBack) {
  AffinityMask before = AffinityMask::ofThisThread();
  ProcessorSet one = {before.processors().back()};
  AffinityMask(one).apply();
  EXPECT_EQ(AffinityMask::ofThisThread().processors(), one);
  before.apply();
  EXPECT_EQ(AffinityMask::ofThisThread().processors(), before.processors());
  // Masks that the kernel refuses, and empty ones, change nothing.
  AffinityMask(ProcessorSet{100000}).apply();
  AffinityMask().apply();
  EXPECT_EQ(AffinityMask::ofThisThread().processors(), before.processors());
}

TEST(AffinityTest, MasksOfManyProcessors) {
  ProcessorSet set = {0, 63, 64, 1023, 1024, 5000};
  EXPECT_EQ(AffinityMask(set).processors(), set);
}

TEST(TopologyTest, OfAProcessIsItsMask) {
  FakeSys sys;
  Topology topology = Topology::read(sys.root());
  EXPECT_EQ(topology.processors(), AffinityMask::ofThisThread().processors());
  EXPECT_FALSE(topology.quota());
}

TEST(TopologyTest, HyperthreadsOfACoreAreOneCore) {
  FakeSys sys;
  for (int processor = 0; processor < 8; ++processor)
    sys.addProcessor(processor, /*package=*/0, /*core=*/processor % 4);
  EXPECT_THAT(Topology::read({0, 1, 2, 3, 4, 5, 6, 7}, sys.root()).cores(),
              ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5),
                          ElementsAre(2, 6), ElementsAre(3, 7)));
  // A cpuset may have only one of a core's two processors.
  EXPECT_THAT(Topology::read({1, 2, 6}, sys.root()).cores(),
              ElementsAre(ElementsAre(1), ElementsAre(2, 6)));
}

/// Processors are numbered in turn over two sockets, whose cores have the same
/// numbers.
TEST(TopologyTest, CoresOfASocketLieSideBySide) {
  FakeSys sys;
  for (int processor = 0; processor < 6; ++processor)
    sys.addProcessor(processor, /*package=*/processor % 2,
                     /*core=*/processor / 2);
  EXPECT_THAT(Topology::read({0, 1, 2, 3, 4, 5}, sys.root()).cores(),
              ElementsAre(ElementsAre(0), ElementsAre(2), ElementsAre(4),
                          ElementsAre(1), ElementsAre(3), ElementsAre(5)));
}

/// One socket has two memory nodes, between which cores are numbered in turn.
TEST(TopologyTest, CoresOfANodeLieSideBySide) {
  FakeSys sys;
  for (int processor = 0; processor < 4; ++processor)
    sys.addProcessor(processor, /*package=*/0, /*core=*/processor,
                     /*node=*/processor % 2);
  EXPECT_THAT(Topology::read({0, 1, 2, 3}, sys.root()).cores(),
              ElementsAre(ElementsAre(0), ElementsAre(2), ElementsAre(1),
                          ElementsAre(3)));
}

TEST(TopologyTest, AnUnknownProcessorIsACore) {
  FakeSys sys;
  sys.addProcessor(1, 0, 0);
  sys.addProcessor(3, 0, 0);
  EXPECT_THAT(Topology::read({1, 2, 3, 4}, sys.root()).cores(),
              ElementsAre(ElementsAre(1, 3), ElementsAre(2), ElementsAre(4)));
  EXPECT_THAT(Topology::read(ProcessorSet(), sys.root()).cores(),
              ElementsAre(ElementsAre(0)));
}

TEST(TopologyTest, QuotasAreRoundedUp) {
  FakeSys sys;
  auto quota = [&](const char *text) {
    sys.setQuota(text);
    return Topology::read({0}, sys.root()).quota().value_or(-1);
  };
  EXPECT_EQ(quota("150000 100000"), 2);
  EXPECT_EQ(quota("5000 100000"), 1);
  EXPECT_EQ(quota("max 100000"), -1);
  EXPECT_EQ(quota(""), -1);
}

} // namespace
