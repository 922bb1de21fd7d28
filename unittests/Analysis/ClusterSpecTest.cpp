//===- ClusterSpecTest.cpp - tests of ClusterSpec.h -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Analysis/ClusterSpec.h"

#include "AnalysisModels.h"
#include "runtime/cluster/ClusterFile.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace sluice;
using namespace sluice::cluster;

namespace {

/// Converts a cluster to an attribute, to text, and back to an attribute and a
/// cluster.
void expectRoundTrip(const Cluster &cluster) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = parse(&context, "module {}");
  setCluster(*module, cluster);
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  OwningOpRef<ModuleOp> again = parse(&context, text);
  ASSERT_TRUE(again);
  Expected<Cluster> read = getCluster(*again);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(*read == cluster) << text;
  for (Place place : cluster.stagePlaces()) {
    Expected<Place> same =
        fromPlaceAttr(*read, toPlaceAttr(&context, cluster, place));
    ASSERT_TRUE(same.ok()) << same.status().message();
    EXPECT_EQ(*same, place);
  }
}

TEST(ClusterSpecTest, ShippedClustersComeBack) {
  for (const char *name : {"cpu8-1g", "cpu8-100g", "gpu8-10g", "unequal"}) {
    Expected<ClusterFile> file =
        readClusterFile(std::string(SLUICE_CLUSTERS "/") + name + ".yaml");
    ASSERT_TRUE(file.ok()) << file.status().message();
    expectRoundTrip(file->cluster);
  }
}

TEST(ClusterSpecTest, RandomClustersComeBack) {
  std::mt19937_64 random(3);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  // These numbers need more than six decimal digits.
  auto number = [&](double scale) {
    return scale * std::uniform_real_distribution<double>(0.1, 1)(random);
  };
  for (int i = 0; i < 200; ++i) {
    ClusterBuilder builder("c" + std::to_string(i));
    int64_t nodes = pick(1, 6);
    auto curve = [&] {
      double first = number(1e-9);
      std::vector<RowCurve::Point> points = {{1, first}};
      if (pick(0, 1))
        points.push_back({pick(3, 100), first * (1 + number(1))});
      return RowCurve::create(std::move(points)).take();
    };
    for (int64_t n = 0; n < nodes; ++n) {
      NodeSpec node{"n" + std::to_string(n), {}, n > 0 && n + 1 == nodes};
      for (int64_t d = pick(1, 12); d > 0; --d)
        node.devices.push_back(
            {.kind = DeviceKind(pick(0, 1)),
             .memoryBytes = uint64_t(pick(1, 1L << 60)),
             .bytesPerSecond = number(1e12),
             .flopsPerSecond = number(1e14),
             .overheadSeconds = number(1e-4),
             .rowSeconds = number(1e-6),
             .weightSeconds = pick(0, 1) ? curve() : RowCurve()});
      ASSERT_TRUE(builder.addNode(node).ok());
    }
    if (pick(0, 1))
      ASSERT_TRUE(builder.setDefaultLink({number(1e-3), number(1e9)}).ok());
    ASSERT_TRUE(builder.setLocalLink({number(1e-6), number(1e11)}).ok());
    for (int64_t n = 0; n + 1 < nodes; ++n)
      if (pick(0, 1))
        ASSERT_TRUE(builder
                        .addLink({"n" + std::to_string(n),
                                  "n" + std::to_string(pick(n + 1, nodes - 1)),
                                  {number(1e-3), number(1e9)}})
                        .ok());
    expectRoundTrip(*builder.finish());
  }
}

TEST(ClusterSpecTest, CurvesAreChecked) {
  auto message = [](const std::string &curve) {
    MLIRContext context;
    OwningOpRef<ModuleOp> module = parse(&context, R"(
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "n0" = #dlti.target_device_spec<
    "kind" = "cpu", "memory" = 1000 : i64, "bandwidth" = 1.0, "flops" = 1.0,
    "overhead" = 0.0, "row_overhead" = 0.0,
    "weight_seconds" = #dlti.map<)" + curve + R"(>>,
  "links" = #dlti.target_device_spec<
    "cluster" = "one",
    "local" = #dlti.map<"latency" = 0.0, "bandwidth" = 1.0>>>} {})");
    EXPECT_TRUE(module);
    return module ? getCluster(*module).status().message() : "";
  };
  EXPECT_EQ(message(R"("1" = 1.0, "8" = 2.0)"), "");
  EXPECT_EQ(message(R"("1" = 1.0, "8" = 0.5)"),
            "dlti.target_system_spec: 'n0' 'weight_seconds' 8 rows take 500 "
            "ms, less than 1: "
            "1 s");
  EXPECT_EQ(message(R"("1" = 1.0, "many" = 2.0)"),
            "dlti.target_system_spec: 'n0' 'weight_seconds' has a key that is "
            "no number of rows: 'many'");
  EXPECT_EQ(message(R"("1" = 1)"),
            "dlti.target_system_spec: 'n0' 'weight_seconds' '1' is of another "
            "type");
}

TEST(ClusterSpecTest, AModuleWithoutOneSaysSo) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = parse(&context, "module {}");
  EXPECT_FALSE(hasCluster(*module));
  EXPECT_EQ(getCluster(*module).status().message(),
            "the module describes no cluster: it has no "
            "dlti.target_system_spec");
}

} // namespace
