//===- ShippedFilesTest.cpp - tests of utils/clusters ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests that the descriptions in utils/clusters can be read, have the models
// that they name, and behave as their comments say.
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/ClusterFile.h"
#include "runtime/cluster/Partition.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cluster;

namespace {

ClusterFile read(const std::string &name) {
  Expected<ClusterFile> file =
      readClusterFile(SLUICE_CLUSTERS "/" + name + ".yaml");
  EXPECT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->cluster.name(), name);
  EXPECT_TRUE(file->cluster.draftPlace().has_value());
  return file.take();
}

Partition cut(const ClusterFile &file, const std::string &model,
              int64_t stages) {
  Expected<Partition> found =
      partition(file.findModel(model)->cost(), file.cluster,
                {.minStages = stages, .maxStages = stages});
  EXPECT_TRUE(found.ok()) << model << ": " << found.status().message();
  return found.take();
}

TEST(ShippedFilesTest, ModelsAreAsLargeAsTheirNamesSay) {
  Expected<std::vector<ModelShape>> models =
      readModelFile(SLUICE_CLUSTERS "/models.yaml");
  ASSERT_TRUE(models.ok()) << models.status().message();
  for (const ModelShape &shape : *models) {
    // "llama-70b", "tinyllama-1.1b"
    double billions = std::stod(shape.name.substr(shape.name.rfind('-') + 1));
    EXPECT_NEAR(double(shape.parameters()) / 1e9, billions, billions * 0.25)
        << shape.name;
  }
}

TEST(ShippedFilesTest, EveryTargetFitsTheEightCpuNodes) {
  for (const char *name : {"cpu8-1g", "cpu8-100g"}) {
    ClusterFile file = read(name);
    EXPECT_EQ(file.cluster.stagePlaces().size(), 8u);
    for (const char *model :
         {"llama-70b", "llama3-70b", "goliath-120b", "falcon-180b", "llama-8b"})
      EXPECT_EQ(cut(file, model, 8).stages.size(), 8u);
  }
}

TEST(ShippedFilesTest, ARowCostsOnACpuNode) {
  ClusterFile file = read("cpu8-1g");
  ModelCost model = file.findModel("llama-70b")->cost();
  Partition found = cut(file, "llama-70b", 8);
  StageCost stage(model, found.stages[3].range,
                  file.cluster.device(found.stages[3].place));
  double one = stage.seconds({.rows = 1});
  EXPECT_NEAR(one, 0.057, 0.002);
  double more = (stage.seconds({.rows = 8}) - stage.seconds({.rows = 7})) / one;
  EXPECT_NEAR(more, 0.67, 0.02);
}

TEST(ShippedFilesTest, ARowCostsNextToNothingOnAGpu) {
  ClusterFile file = read("gpu8-10g");
  ModelCost model = file.findModel("llama-70b")->cost();
  Partition found = cut(file, "llama-70b", 8);
  StageCost stage(model, found.stages[3].range,
                  file.cluster.device(found.stages[3].place));
  EXPECT_LT(stage.seconds({.rows = 8}), 1.05 * stage.seconds({.rows = 1}));
}

TEST(ShippedFilesTest, UnequalNodesGetUnequalStages) {
  ClusterFile file = read("unequal");
  Partition found = cut(file, "llama-70b", 5);
  // As much as the GPU can hold.
  const StagePlan &gpu = found.stages.back();
  EXPECT_EQ(file.cluster.placeName(gpu.place), "gpu");
  EXPECT_GT(gpu.memoryBytes, int64_t(10) << 30);
  EXPECT_GT(gpu.range.layers, found.stages[2].range.layers);
  EXPECT_GT(found.stages[0].range.layers, found.stages[3].range.layers);
  // A desktop reaches the GPU through two switches.
  std::optional<Link> link =
      file.cluster.link(found.stages[3].place, gpu.place);
  ASSERT_TRUE(link.has_value());
  EXPECT_NEAR(link->latencySeconds, 55e-6, 1e-9);
  EXPECT_EQ(link->bytesPerSecond, 118e6);
}

} // namespace
