//===- ClusterFileTest.cpp - tests of ClusterFile.h -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/ClusterFile.h"
#include "runtime/cluster/CostModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cluster;
using testing::HasSubstr;

namespace {

// Lines 1 to 12 of a file; tests append to it.
const std::string small = R"(name: two
nodes:
  - name: a
    devices:
      - {kind: cpu, memory: 64 GiB, bandwidth: 85 GB/s, flops: 450 GFLOP/s}
  - name: b
    like: a
  - name: d
    like: b
    draft: true
links:
  default: {latency: 50 us, bandwidth: 1 Gb/s}
)";

std::string error(const std::string &text) {
  Expected<ClusterFile> file = parseClusterFile(text, "c.yaml");
  EXPECT_FALSE(file.ok()) << text;
  return file.status().message();
}

/// Returns `text` with the first `from` replaced.
std::string changed(std::string text, const std::string &from,
                    const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}
std::string with(const std::string &from, const std::string &to) {
  return changed(small, from, to);
}

TEST(ClusterFileTest, ReadsNodesAndLinks) {
  Expected<ClusterFile> file = parseClusterFile(small, "c.yaml");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const Cluster &cluster = file->cluster;
  EXPECT_EQ(cluster.name(), "two");
  ASSERT_EQ(cluster.nodes().size(), 3u);
  EXPECT_EQ(cluster.nodes()[0].devices, cluster.nodes()[2].devices);
  const DeviceSpec &device = cluster.nodes()[1].devices[0];
  EXPECT_EQ(device.kind, DeviceKind::Cpu);
  EXPECT_EQ(device.memoryBytes, uint64_t(64) << 30);
  EXPECT_EQ(device.bytesPerSecond, 85e9);
  EXPECT_EQ(device.flopsPerSecond, 450e9);
  EXPECT_EQ(device.overheadSeconds, 0);
  EXPECT_EQ(cluster.draftPlace(), (Place{2, 0}));
  EXPECT_EQ(cluster.link({0, 0}, {1, 0}), (Link{50e-6, 125e6}));
}

TEST(ClusterFileTest, ReadsEveryKey) {
  Expected<ClusterFile> file = parseClusterFile(R"(
models:
  - {name: m, layers: 2, hidden: 8, feed_forward: 16, heads: 2, kv_heads: 1,
     head_dim: 4, vocab: 10, bits_per_weight: 3.5, gated: false, tied: true}
  - {name: "n", layers: 1, hidden: 8, feed_forward: 16, heads: 2, kv_heads: 1,
     head_dim: 4, vocab: 10, format: q8_0}
target: m
draft: n
nodes:
  - name: a
    devices:
      - {kind: cuda, memory: 1 GB, bandwidth: 1 GB/s, flops: 1 TFLOP/s,
         overhead: 5 us, row_overhead: 1 us}
      - {kind: cpu, memory: 1 GB, bandwidth: 1 GB/s, flops: 1 TFLOP/s}
  - {name: b, like: a}
switches: [s]
links:
  local: {latency: 1 us, bandwidth: 50 GB/s}
  between:
    - {nodes: [a, s], latency: 1 us, bandwidth: 1 GB/s}
    - {nodes: [s, b], latency: 1 us, bandwidth: 2 GB/s}
)",
                                                "folder/c.yaml");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->cluster.name(), "c");
  EXPECT_EQ(file->cluster.stagePlaces().size(), 4u);
  const DeviceSpec &gpu = file->cluster.nodes()[0].devices[0];
  EXPECT_EQ(gpu.kind, DeviceKind::Cuda);
  EXPECT_EQ(gpu.overheadSeconds, 5e-6);
  EXPECT_EQ(gpu.rowSeconds, 1e-6);
  EXPECT_EQ(file->cluster.link({0, 0}, {1, 1}), (Link{2e-6, 1e9}));
  EXPECT_EQ(file->cluster.localLink(), (Link{1e-6, 50e9}));
  Expected<ModelShape> m = file->findModel(file->target);
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(*m, (ModelShape{.name = "m",
                            .layers = 2,
                            .hidden = 8,
                            .feedForward = 16,
                            .heads = 2,
                            .kvHeads = 1,
                            .headDim = 4,
                            .vocab = 10,
                            .bitsPerWeight = 3.5,
                            .gated = false,
                            .tied = true}));
  EXPECT_EQ(file->findModel("n")->bitsPerWeight, 8.5);
  EXPECT_EQ(file->findModel("x").status().message(),
            "no model 'x' is described, only m, n");
}

// Lines 1 to 16 of a file.
const std::string measured = R"(models:
  - {name: m, layers: 2, hidden: 64, feed_forward: 128, heads: 2, kv_heads: 1,
     head_dim: 32, vocab: 100, format: f16}
nodes:
  - name: a
    devices:
      - kind: cpu
        memory: 1 GB
        bandwidth: 10 GB/s
        flops: 100 GFLOP/s
        overhead: 1 us
        steps:
          model: m
          context: 32
          times: [{rows: 1, time: 100 us}, {rows: 4, time: 160 us}]
  - {name: b, like: a}
)";

TEST(ClusterFileTest, ReadsMeasuredSteps) {
  Expected<ClusterFile> file = parseClusterFile(measured, "c.yaml");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const DeviceSpec &device = file->cluster.nodes()[1].devices[0];
  EXPECT_EQ(file->cluster.nodes()[0].devices[0], device);
  ModelCost model = file->findModel("m")->cost();
  StageCost all(model, wholeModel(model), device);
  EXPECT_EQ(all.time({1, 1, 32}), Time(100'000));
  EXPECT_EQ(all.time({4, 4, 32}), Time(160'000));
  // Half way between the line, 120 us, and weights that take no longer than for
  // one row; the ops without weights take 1 us of it.
  EXPECT_NEAR(double(all.time({2, 2, 32}).count()), 110'500, 100);
}

TEST(ClusterFileTest, RefusesStepsThatCannotBeMeant) {
  auto errorWith = [&](const std::string &from, const std::string &to) {
    return error(changed(measured, from, to));
  };
  EXPECT_EQ(errorWith("context: 32", "color: 1"),
            "c.yaml:14: 'steps' has no 'color': expected one of model, "
            "context, times");
  EXPECT_EQ(errorWith("model: m", "model: n"),
            "c.yaml:13: 'steps': no model 'n' is described, only m");
  EXPECT_EQ(errorWith("times: [{rows: 1", "times: [{rows: 2"),
            "c.yaml:13: 'steps': the first time must be for 1 row, and not "
            "for 2");
  EXPECT_EQ(errorWith("160 us", "40 us"),
            "c.yaml:13: 'steps': 4 rows take 40 us, less than 1: 100 us");
  EXPECT_THAT(errorWith("160 us", "160"), HasSubstr("c.yaml:15: 'time': "));
  EXPECT_EQ(errorWith("rows: 4, ", ""),
            "c.yaml:15: a time of 'steps' needs 'rows'");
  EXPECT_EQ(errorWith("context: 32", "context: -1"),
            "c.yaml:14: 'context' is '-1', not a whole number");
  EXPECT_EQ(errorWith("overhead: 1 us", "overhead: 100 us"),
            "c.yaml:13: 'steps': steps of 1 rows of 'm' take 100 us: without "
            "weights alone 103 us");
  EXPECT_THAT(errorWith("bandwidth: 10 GB/s", "bandwidth: 0 GB/s"),
              HasSubstr("bandwidth in B/s 0 is not in"));
}

TEST(ClusterFileTest, RefusesOtherKeys) {
  EXPECT_EQ(error(small + "color: red\n"),
            "c.yaml:13: a cluster has no 'color': expected one of name, "
            "models, target, draft, nodes, switches, links");
  EXPECT_THAT(error(with("kind: cpu", "colour: red, kind: cpu")),
              HasSubstr("c.yaml:5: a device has no 'colour'"));
  EXPECT_THAT(error(with("    like: a", "    alike: a")),
              HasSubstr("c.yaml:7: a node has no 'alike'"));
  EXPECT_THAT(error(with("latency", "delay")),
              HasSubstr("c.yaml:12: a link has no 'delay'"));
  EXPECT_THAT(error(with("default", "usual")),
              HasSubstr("c.yaml:12: 'links' has no 'usual'"));
}

TEST(ClusterFileTest, RefusesWhatIsMissing) {
  EXPECT_EQ(error("name: x\n"), "c.yaml:1: a cluster needs 'nodes'");
  EXPECT_THAT(error("nodes: []\n"), HasSubstr("c.yaml:1: 'nodes' must be a "
                                              "list that is not empty"));
  EXPECT_THAT(error(with("memory: 64 GiB, ", "")),
              HasSubstr("c.yaml:5: a device needs 'memory'"));
  EXPECT_THAT(error(with("    like: a\n", "")),
              HasSubstr("node 'b' needs either 'devices' or 'like'"));
  EXPECT_THAT(error(with("    devices:", "    like: b\n    devices:")),
              HasSubstr("node 'a' needs either 'devices' or 'like'"));
  EXPECT_THAT(error(with("latency: 50 us, ", "")),
              HasSubstr("c.yaml:12: a link needs 'latency'"));
}

TEST(ClusterFileTest, RefusesOtherTypesAndUnits) {
  EXPECT_EQ(error(with("50 us", "50")),
            "c.yaml:12: 'latency': '50' has no unit: expected one of ns, us, "
            "ms, s");
  EXPECT_THAT(error(with("64 GiB", "64 GB/s")),
              HasSubstr("c.yaml:5: 'memory': '64 GB/s' has the unit 'GB/s'"));
  EXPECT_THAT(error(with("64 GiB", "[1]")),
              HasSubstr("c.yaml:5: 'memory' must be one value, found a list"));
  EXPECT_THAT(error(with("kind: cpu", "kind: tpu")),
              HasSubstr("c.yaml:5: 'kind' is 'tpu', not cpu or cuda"));
  EXPECT_THAT(error(with("true", "yes")),
              HasSubstr("c.yaml:10: 'draft' is 'yes', not true or false"));
  EXPECT_THAT(error("[1, 2]"), HasSubstr("c.yaml:1: a cluster must be a map"));
  EXPECT_THAT(error(""), HasSubstr("a cluster must be a map, found nothing"));
  EXPECT_THAT(error(small + "switches: [[s]]\n"),
              HasSubstr("c.yaml:13: a switch's name ''"));
}

TEST(ClusterFileTest, RefusesNonsenseNumbers) {
  for (const char *memory : {"0 B", "nan GiB", "-1 GiB", "1e30 TiB", "2e18 B"})
    EXPECT_THAT(error(with("64 GiB", memory)), HasSubstr("c.yaml:")) << memory;
  EXPECT_THAT(error(with("85 GB/s", "0 GB/s")),
              HasSubstr("c.yaml:3: node 'a': bandwidth in B/s 0 is not in"));
  EXPECT_THAT(error(with("450 GFLOP/s", "1e30 GFLOP/s")),
              HasSubstr("c.yaml:3: node 'a': FLOP/s 1e+39 is not in"));
  EXPECT_THAT(error(with("50 us", "1000 s")),
              HasSubstr("c.yaml:12: the default link: latency in s 1000"));
  EXPECT_THAT(error(with("1 Gb/s", "0 Gb/s")),
              HasSubstr("c.yaml:12: the default link: bandwidth"));
}

TEST(ClusterFileTest, RefusesDoubles) {
  EXPECT_EQ(error(small + "name: again\n"), "c.yaml:13: 'name' is there twice");
  EXPECT_EQ(error(with("name: b", "name: a")),
            "c.yaml:6: there are two nodes 'a'");
  EXPECT_EQ(error(with("like: a", "like: a\n    draft: true")),
            "c.yaml:9: 'b' and 'd' are both for the draft");
  EXPECT_EQ(error(small + R"(  between:
    - {nodes: [a, b], latency: 1 us, bandwidth: 1 GB/s}
    - {nodes: [b, a], latency: 1 us, bandwidth: 1 GB/s}
)"),
            "c.yaml:15: link 'b' - 'a' is there twice");
}

TEST(ClusterFileTest, RefusesLikesThatLeadNowhere) {
  EXPECT_EQ(error(with("like: a", "like: x")),
            "c.yaml:6: node 'b' is like 'x', which is no node");
  EXPECT_EQ(error(with("like: a", "like: d")),
            "c.yaml:6: nodes are like each other: b -> d -> b");
  EXPECT_EQ(error(with("like: a", "like: b")),
            "c.yaml:6: nodes are like each other: b -> b");
}

TEST(ClusterFileTest, RefusesLinksOfNobody) {
  EXPECT_EQ(error(small + R"(  between:
    - {nodes: [a, x], latency: 1 us, bandwidth: 1 GB/s}
)"),
            "c.yaml:14: link 'a' - 'x': no node or switch is called 'x'");
  EXPECT_EQ(error(small + R"(  between:
    - {nodes: [a], latency: 1 us, bandwidth: 1 GB/s}
)"),
            "c.yaml:14: 'nodes' must be two names");
}

TEST(ClusterFileTest, RefusesModels) {
  const std::string model = R"(models:
  - {name: m, layers: 2, hidden: 8, feed_forward: 16, heads: 2, kv_heads: 1,
     head_dim: 4, vocab: 10, format: q8_0}
)";
  auto changed = [&](const std::string &from, const std::string &to) {
    std::string text = model;
    return error(small + text.replace(text.find(from), from.size(), to));
  };
  EXPECT_TRUE(parseClusterFile(small + model, "c.yaml").ok());
  EXPECT_THAT(changed("layers: 2, ", ""),
              HasSubstr("c.yaml:14: a model needs 'layers'"));
  EXPECT_THAT(changed("layers: 2", "layers: 0"),
              HasSubstr("c.yaml:14: model 'm': layers 0 is not in [1, 4096]"));
  EXPECT_THAT(changed("layers: 2", "layers: two"),
              HasSubstr("'layers' is 'two', not a whole number"));
  EXPECT_THAT(changed("kv_heads: 1", "kv_heads: 3"),
              HasSubstr("2 heads are no multiple of 3 key heads"));
  EXPECT_THAT(changed("q8_0", "q9"), HasSubstr("unknown format 'q9'"));
  EXPECT_THAT(changed("format: q8_0", "bits_per_weight: 99"),
              HasSubstr("99 bits a weight are not in [1, 32]"));
  EXPECT_THAT(changed("format", "bits_per_weight: 3, format"),
              HasSubstr("needs either 'format' or 'bits_per_weight'"));
  EXPECT_THAT(error(small + model + model.substr(model.find('\n') + 1)),
              HasSubstr("c.yaml:16: model 'm' is there twice"));
  EXPECT_THAT(error(small + model + "target: x\n"),
              HasSubstr("c.yaml:16: 'target': no model 'x' is described, "
                        "only m"));
  EXPECT_THAT(error(small + "models: nowhere.yaml\n"),
              HasSubstr("c.yaml:13: models: "));
}

TEST(ClusterFileTest, RefusesYamlThatIsTooMuch) {
  EXPECT_THAT(error("a: &x 1\nb: *x\n"),
              HasSubstr("c.yaml:1: anchors and aliases"));
  EXPECT_THAT(error("a: !!set 1\n"), HasSubstr("c.yaml:1: tags"));
  EXPECT_THAT(error(std::string(40, '[') + std::string(40, ']')),
              HasSubstr("deeper than 16"));
  EXPECT_THAT(error("{[1]: 2}"), HasSubstr("a key must be a text"));
  EXPECT_THAT(error("a: [1\nb: 2\n"), HasSubstr("c.yaml:"));
  EXPECT_THAT(error("a: 1\n---\na: 2\n"), HasSubstr("more than one document"));
  EXPECT_THAT(error(std::string((1 << 20) + 1, ' ')),
              HasSubstr("longer than 1048576 bytes"));
  std::string many = "a: [";
  for (int i = 0; i < 100001; ++i)
    many += "1,";
  EXPECT_THAT(error(many + "1]"), HasSubstr("more than 100000 values"));
}

TEST(ClusterFileTest, NoTextMakesItThrow) {
  // Parses every prefix, and the text with every byte replaced by one with a
  // meaning in YAML.
  for (size_t size = 0; size < small.size(); ++size)
    (void)parseClusterFile(small.substr(0, size), "c.yaml").ok();
  for (size_t at = 0; at < small.size(); ++at)
    for (char c : {'\0', '\n', '\t', '{', '[', ':', '&', '*', '!', '"', '\'',
                   '\xff', '?', '-', '|', '%'}) {
      std::string text = small;
      text[at] = c;
      (void)parseClusterFile(text, "c.yaml").ok();
    }
}

TEST(ClusterFileTest, SaysWhichFileIsMissing) {
  EXPECT_THAT(readClusterFile("/nowhere/c.yaml").status().message(),
              HasSubstr("/nowhere/c.yaml"));
}

} // namespace
