//===- StagePipelineTest.cpp - stages under a random head -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/test/RandomPipeline.h"

using namespace sluice;
using namespace sluice::test;

namespace {

PipelineSetup setupOf(uint32_t seed) {
  std::mt19937 random(seed * 2654435761u + 1);
  PipelineSetup setup;
  setup.seed = seed;
  setup.stages = 1 + random() % 3;
  setup.limits.requests = 1 + random() % 4;
  setup.limits.nodes = 1 + random() % 12;
  setup.limits.branches = setup.limits.requests * (setup.limits.nodes + 1);
  setup.limits.contextLength = 2 + random() % 90;
  setup.limits.rows = 1 + random() % (seed % 2 ? 8 : 64);
  setup.limits.outputs = 1 + random() % 16;
  setup.limits.frames = 1 + random() % 8;
  setup.limits.fuse = random() % 4 != 0;
  setup.cancels = random() % 4 != 0;
  return setup;
}

/// Thousands of pipelines, each from its seed: every row that is computed finds
/// its ancestors in the cache, whatever was guessed, fused, dropped, cut and
/// closed; no living row is lost; and in the end nothing is held.
TEST(StagePipelineTest, EveryRowFindsItsAncestorsWhateverHappens) {
  int64_t answers = 0, departed = 0, dropped = 0, reused = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    RandomPipeline pipeline(setupOf(seed));
    pipeline.run();
    ASSERT_FALSE(HasFailure());
    answers += pipeline.answers;
    departed += pipeline.departed;
    dropped += pipeline.dropped;
    reused += pipeline.reused;
  }
  // The test is worth something only if these are common.
  EXPECT_GT(answers, 10'000);
  EXPECT_GT(departed, 1'000);
  EXPECT_GT(dropped, 1'000);
  EXPECT_GT(reused, 1'000);
  RecordProperty("answers", std::to_string(answers));
  RecordProperty("left", std::to_string(departed));
}

/// The same on devices that see deaths late, and only some deaths of a chain: a
/// row that has lost an ancestor is not answered, and all other rows are as
/// before.
TEST(StagePipelineTest, EveryRowFindsItsAncestorsWhateverADeviceSees) {
  int64_t answers = 0, departed = 0, orphans = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    PipelineSetup setup = setupOf(seed);
    setup.device = true;
    RandomPipeline pipeline(setup);
    pipeline.run();
    ASSERT_FALSE(HasFailure());
    answers += pipeline.answers;
    departed += pipeline.departed;
    for (int64_t i = 0; i < setup.stages; ++i)
      orphans += pipeline.stage(i).orphans;
  }
  EXPECT_GT(answers, 10'000);
  EXPECT_GT(departed, 1'000);
  EXPECT_GT(orphans, 100);
  RecordProperty("orphans", std::to_string(orphans));
}

PipelineSetup sharingSetupOf(uint32_t seed) {
  std::mt19937 random(seed * 2654435761u + 7);
  PipelineSetup setup;
  setup.seed = seed;
  setup.stages = 2 + random() % 2;
  setup.limits.requests = 2 + random() % 3;
  setup.limits.nodes = 1 + random() % 8;
  setup.limits.branches = setup.limits.requests * (setup.limits.nodes + 1);
  setup.limits.contextLength = 70 + random() % 130;
  setup.limits.rows = 8 + random() % 90;
  setup.limits.outputs = 1 + random() % 16;
  setup.limits.frames = 1 + random() % 12;
  setup.limits.sharedPages = 1 + random() % 8;
  setup.limits.fuse = random() % 4 != 0;
  setup.cancels = random() % 4 != 0;
  setup.actions = 150;
  return setup;
}

/// The same with pages that are pinned, shared and unpinned: each row finds
/// what it would have computed itself, at every stage. In the end only pinned
/// pages are held, and after their unpins nothing.
TEST(StagePipelineTest, EveryRowFindsItsPrefixWhateverHappens) {
  int64_t prefixes = 0, keeps = 0, keepsAfterEnd = 0, drops = 0;
  for (uint32_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    PipelineSetup setup = sharingSetupOf(seed);
    setup.device = seed % 2 == 1;
    RandomPipeline pipeline(setup);
    pipeline.run();
    ASSERT_FALSE(HasFailure());
    prefixes += pipeline.prefixes;
    keeps += pipeline.pins;
    keepsAfterEnd += pipeline.keepsAfterEnd;
    drops += pipeline.unpins;
  }
  // The test is worth something only if these are common.
  EXPECT_GT(prefixes, 500);
  EXPECT_GT(keeps, 1'000);
  EXPECT_GT(keepsAfterEnd, 100);
  EXPECT_GT(drops, 500);
  RecordProperty("prefixes", std::to_string(prefixes));
  RecordProperty("keeps", std::to_string(keeps));
  RecordProperty("keepsAfterEnd", std::to_string(keepsAfterEnd));
  RecordProperty("drops", std::to_string(drops));
}

} // namespace
