//===- EmulationTest.cpp - the times of a described cluster ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An emulated pipeline has the times that the planner uses, and refuses what
// the planner refuses.
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/Emulation.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::pipeline;
using testing::HasSubstr;

namespace {

constexpr const char *models = R"(
name: small
target: big
draft: small
models:
  - {name: big, layers: 6, hidden: 1024, feed_forward: 4096, heads: 8,
     kv_heads: 8, head_dim: 128, vocab: 1000, format: q8_0}
  - {name: small, layers: 1, hidden: 1024, feed_forward: 4096, heads: 8,
     kv_heads: 8, head_dim: 128, vocab: 1000, format: q8_0}
nodes:
  - name: n0
    devices:
      - {kind: cpu, memory: 8 GiB, bandwidth: 10 GB/s, flops: 10 TFLOP/s}
  - {name: n1, like: n0}
  - {name: n2, like: n0}
  - name: d
    draft: true
    devices:
      - {kind: cpu, memory: 8 GiB, bandwidth: 10 GB/s, flops: 10 GFLOP/s}
)";

class EmulationTest : public testing::Test {
protected:
  EmulationTest()
      : path(testing::TempDir() + "emulation-" + std::to_string(getpid()) +
             ".yaml") {
    options.clusterFile = path;
    options.stages = 3;
  }
  ~EmulationTest() override { std::remove(path.c_str()); }

  Expected<Emulation> create(const std::string &links) {
    std::ofstream(path) << models << links;
    return Emulation::create(options);
  }

  std::string path;
  EmulationOptions options;
};

constexpr const char *everywhere = R"(
links:
  default: {latency: 100 us, bandwidth: 1 GB/s}
  local: {latency: 1 s, bandwidth: 1 kB/s}
)";

TEST_F(EmulationTest, PromptChunksKeepTheLatencyAtTheDraft) {
  options.maxLatency = std::chrono::milliseconds(2);
  options.hasDraft = options.ownDraftRank = false;
  Expected<Emulation> without = create(everywhere);
  ASSERT_TRUE(without) << without.status().message();
  options.hasDraft = options.ownDraftRank = true;
  Expected<Emulation> with = create(everywhere);
  ASSERT_TRUE(with) << with.status().message();
  EXPECT_LT(with->stepRows(), without->stepRows());
  // The draft's longest step of so many rows has no longer stretch.
  Expected<cluster::ClusterFile> file = cluster::readClusterFile(path);
  ASSERT_TRUE(file) << file.status().message();
  cluster::ModelCost draft = file->findModel("small")->cost();
  cluster::StageCost cost(draft, cluster::wholeModel(draft),
                          file->cluster.device(*file->cluster.draftPlace()));
  EXPECT_EQ(with->stepRows(),
            cost.checkpoints(options.maxLatency, 512, 1024).stepRows);
}

/// A trip consists of steps and messages of one row. A message from a rank to
/// itself takes no time, however slow the link between a node's devices is.
TEST_F(EmulationTest, ATripIsThePlanners) {
  for (bool own : {true, false}) {
    options.ownDraftRank = own;
    Expected<Emulation> made = create(everywhere);
    ASSERT_TRUE(made) << made.status().message();
    EXPECT_EQ(made->link(0, 0).latencySeconds, 0);
    EXPECT_TRUE(std::isinf(made->link(0, 0).bytesPerSecond));
    double links =
        (own ? 4 : 3) * 100e-6 + 2 * 1024 * 4e-9 + (own ? 2 : 1) * 128e-9;
    // The layers are equal, so that the cut does not matter.
    Expected<cluster::ClusterFile> file = cluster::readClusterFile(path);
    ASSERT_TRUE(file) << file.status().message();
    cluster::ModelCost big = file->findModel("big")->cost();
    double steps =
        cluster::StageCost(big, cluster::wholeModel(big),
                           file->cluster.device(file->cluster.stagePlaces()[0]))
            .seconds({1, 1, 1024});
    EXPECT_NEAR(double(made->times().roundTrip.count()) * 1e-9, steps + links,
                2e-9);
  }
}

/// The emulation, like the planner, needs links only where something travels.
TEST_F(EmulationTest, StepsTakeWhatWasMeasured) {
  std::string text = models;
  std::string_view flops = "flops: 10 TFLOP/s}";
  text.replace(text.find(flops), flops.size(),
               "flops: 10 TFLOP/s, steps: {model: big, context: 1024, times: ["
               "{rows: 1, time: 60 ms}, {rows: 8, time: 90 ms}]}}");
  std::ofstream(path) << text << everywhere;
  options.stages = 1;
  options.hasDraft = options.ownDraftRank = false;
  Expected<Emulation> made = Emulation::create(options);
  ASSERT_TRUE(made) << made.status().message();
  std::unique_ptr<StepPacer> pacer = made->stagePacer(0);
  auto millis = [&](int64_t rows) {
    return std::chrono::duration<double, std::milli>(
               pacer->stretch(rows, rows, 1))
        .count();
  };
  EXPECT_NEAR(millis(1), 60, 1e-5);
  EXPECT_NEAR(millis(8), 90, 1e-5);
  // Half way between the line and weights that take no longer than for one row,
  // plus 65 us for the part without weights.
  EXPECT_NEAR(millis(3), (60 + 2 * 0.065 + 60 + 30 * 2 / 7.0) / 2, 0.05);
  EXPECT_EQ(made->times().slowest.get(8), pacer->stretch(8, 8, 1));
}

TEST_F(EmulationTest, LinksAreNeededWhereSomethingTravels) {
  std::string links = "links:\n  between:\n";
  auto join = [&](const char *a, const char *b) {
    links += std::string("    - {nodes: [") + a + ", " + b +
             "], latency: 100 us, bandwidth: 1 GB/s}\n";
  };
  join("d", "n0");
  join("n0", "n1");
  join("n1", "n2");
  join("n2", "d");
  Expected<Emulation> made = create(links);
  ASSERT_FALSE(made);
  EXPECT_THAT(
      made.status().message(),
      HasSubstr("there is no path between the head on node 'd' and node 'n1'"));
  join("d", "n1");
  made = create(links);
  ASSERT_TRUE(made) << made.status().message();
  EXPECT_EQ(made->link(0, 2).latencySeconds, 100e-6);
  EXPECT_EQ(made->link(1, 3).latencySeconds, 0);
}

} // namespace
