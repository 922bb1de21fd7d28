//===- StepGraphTest.cpp - the kernels that a step consists of ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/StepGraph.h"
#include "runtime/device/cuda/AttendGrid.h"
#include "runtime/device/cuda/emulator/EmulatedDriver.h"
#include "runtime/device/cuda/test/TinyGraph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;

namespace {

/// A device that gives each kernel a number, which identifies its name.
class StepGraphTest : public testing::Test {
protected:
  StepGraphTest() : tiny(cpu::Isa::Avx2) {
    emulator::EmulatedOptions options;
    options.program = tinyKernels();
    device = (*emulator::openEmulated(options))->open(0).take();
    kernels = KernelLibrary::load(*device, {}).take();
  }

  /// Builds a graph of `rows` rows and returns its kernels: name, grid,
  /// threads.
  std::vector<std::string> build(cpu::TinyPart part, int64_t rows,
                                 int32_t sharedBytes = 227 << 10,
                                 bool fastMathBatch = false) {
    program = tinyGraph(tiny, part);
    context.program = &program;
    context.limits = CudaExecutorOptions();
    context.limits.rows = 256;
    context.limits.outputs = 8;
    context.limits.pages = 8;
    context.limits.contextLength = 100;
    context.limits.fastMathBatch = fastMathBatch;
    context.plan = MemoryPlan::make(program, context.limits).take();
    context.arena = 1 << 20;
    context.kernels = isLaunched ? kernels.get() : nullptr;
    names.clear();
    context.nodeNames = &names;
    context.multiprocessors = 16;
    context.sharedBytes = sharedBytes;
    graph = std::make_unique<StepGraph>(context, rows);
    Status status = graph->build();
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<std::string> lines;
    for (const GraphNode &node : graph->nodes)
      lines.push_back(lineOf(node));
    return lines;
  }

  std::string lineOf(const GraphNode &node) {
    if (const auto *product = std::get_if<ProductNode>(&node))
      return "product " + std::to_string(product->rowCount) + "x" +
             std::to_string(product->features) + "x" +
             std::to_string(product->columns);
    const auto &kernel = std::get<KernelNode>(node);
    return nameOf(kernel.function) + " " + std::to_string(kernel.grid.x) + "," +
           std::to_string(kernel.grid.y) + "," + std::to_string(kernel.grid.z);
  }

  std::string nameOf(Function function) {
    for (auto list : {emulator::runtimeKernels(), tinyKernels()})
      for (const SluiceEmulatedKernel &kernel : list)
        if (*kernels->find(kernel.name, 0) == function)
          return kernel.name;
    return "?";
  }

  cpu::TinyProgram tiny;
  CudaProgram program;
  std::unique_ptr<Device> device;
  std::unique_ptr<KernelLibrary> kernels;
  bool isLaunched = true;
  std::vector<std::string> names; // those of the last graph's nodes
  GraphContext context;
  std::unique_ptr<StepGraph> graph;
};

} // namespace

TEST_F(StepGraphTest, OneRow) {
  std::vector<std::string> lines = build(cpu::TinyPart::Whole, 1);
  // The embedding, one layer, and the scores.
  EXPECT_THAT(std::vector(lines.begin(), lines.begin() + 13),
              testing::ElementsAre(
                  "sluice_embed_q8_0 1,1,1", "sluice_embed_f32 1,1,1",
                  "tiny_add 1,1,1", "sluice_operand_rows 1,1,1",
                  "sluice_operand_rows 1,1,1", "sluice_linear_f32_8 1,1,1",
                  "sluice_linear_bf16_8 1,1,1", "sluice_linear_f32_8 1,1,1",
                  "tiny_rotate_queries 1,1,1", "tiny_rotate_keys 1,1,1",
                  "sluice_append_cache 1,1,1", "sluice_attend_f16_64 1,1,2",
                  "sluice_linear_q4_0_8 1,1,1"));
  EXPECT_THAT(std::vector(lines.end() - 6, lines.end()),
              testing::ElementsAre(
                  "tiny_select 1,1,1", "sluice_operand_rows 1,1,1",
                  "sluice_linear_f16_8 1,1,1", "tiny_argmax 1,1,1",
                  "sluice_sample_search 1,1,1", "sluice_sample_merge 1,1,1"));
  EXPECT_EQ(graph->received, 0u);
  EXPECT_EQ(graph->checkpoints, 0);
}

/// For one row, attention makes its operand in both layers, and the last
/// product of the first layer makes two for the second; but not if each task is
/// to have launches of its own.
TEST_F(StepGraphTest, OneRowHasTails) {
  using testing::Contains;
  auto countOperands = [&](int64_t rows) {
    return std::ranges::count_if(
        build(cpu::TinyPart::Whole, rows), [](const std::string &line) {
          return line.starts_with("sluice_operand_rows");
        });
  };
  const auto joined = countOperands(1);
  EXPECT_EQ(countOperands(2), joined + 4);
  context.oneTask = true;
  EXPECT_EQ(countOperands(1), joined + 4);
}

TEST_F(StepGraphTest, RowsChooseTheKernels) {
  using testing::Contains;
  EXPECT_THAT(build(cpu::TinyPart::Whole, 16),
              Contains("sluice_linear_bf16_16 1,1,1"));
  // 32 rows with a group of two heads are a tile.
  EXPECT_THAT(build(cpu::TinyPart::Whole, 32),
              testing::AllOf(Contains("sluice_linear_bf16_32 1,1,1"),
                             Contains("sluice_attend_tile_f16_64 1,2,1"),
                             Contains("sluice_attend_f16_64 32,1,2")));
  EXPECT_THAT(build(cpu::TinyPart::Whole, 64),
              Contains("sluice_linear_bf16_64 1,1,1"));
  EXPECT_THAT(build(cpu::TinyPart::Whole, 256),
              testing::AllOf(Contains("sluice_linear_tile_bf16 2,1,1"),
                             Contains("sluice_linear_f32_64 1,1,4"),
                             Contains("sluice_linear_f16_8 1,1,1")));
  // A chip with less shared memory has no room for the stages of the tile
  // kernels.
  EXPECT_THAT(build(cpu::TinyPart::Whole, 256, 99 << 10),
              Contains("sluice_linear_bf16_64 1,1,4"));
}

/// If most rows may be in tiles, blocks go over rows.
TEST_F(StepGraphTest, LargeGraphsHaveFewBlocksForRowsInNoTile) {
  using testing::Contains;
  // 16 multiprocessors have four places each, so each kv head has 32; rows have
  // one span.
  EXPECT_THAT(build(cpu::TinyPart::Whole, 128),
              Contains("sluice_attend_f16_64 128,1,2"));
  EXPECT_THAT(build(cpu::TinyPart::Whole, 256),
              testing::AllOf(Contains("sluice_attend_tile_f16_64 8,2,1"),
                             Contains("sluice_attend_f16_64 32,1,2")));
}

/// Uses the shape of docs/RationaleCuda.md: a llama-8b on 132 multiprocessors.
TEST(AttendGridTest, BlocksOfARealShape) {
  AttendSize size = {1, 32, 8, 128, 64, false};
  AttendGrid grid = attendGrid(size, 132);
  EXPECT_EQ(grid.spanRows, 1);
  EXPECT_EQ(grid.spanShares, 16); // all spans of 8,192 positions
  // Some rows have one block each, with and without tiles.
  for (int64_t rows : {8, 16, 128}) {
    size.rows = rows;
    size.hasTiles = rows >= tileRows(128, 4);
    grid = attendGrid(size, 132);
    EXPECT_EQ(grid.spanRows, rows);
    EXPECT_EQ(grid.spanShares, std::max<int64_t>(1, 33 / rows));
  }
  for (int64_t rows : {256, 2048}) {
    size.rows = rows;
    grid = attendGrid(size, 132);
    EXPECT_EQ(grid.spanRows * grid.spanShares * size.kvHeads, 1056);
    EXPECT_EQ(grid.spanShares, 4);
  }
  // Sequences of two spans do not need four blocks to share them.
  size.spansPerRow = 2;
  EXPECT_EQ(attendGrid(size, 132).spanShares, 1);
  // Without tiles these kernels compute every row.
  size.hasTiles = false;
  EXPECT_EQ(attendGrid(size, 132).spanRows, 2048);
  // There are more heads than blocks.
  size = {256, 4096, 4096, 64, 8, true};
  grid = attendGrid(size, 16);
  EXPECT_EQ(grid.spanRows, 1);
}

/// Attention reads its tables where the host writes them.
TEST_F(StepGraphTest, AttentionFindsItsPlaces) {
  build(cpu::TinyPart::WholeWithCheckpoints, 32);
  int64_t found = 0;
  for (const GraphNode &each : graph->nodes) {
    const auto &node = std::get<KernelNode>(each);
    if (!nameOf(node.function).starts_with("sluice_attend"))
      continue;
    AttendArguments arguments;
    ASSERT_EQ(node.words.size() * 8, sizeof(arguments));
    std::memcpy(&arguments, node.words.data(), sizeof(arguments));
    EXPECT_EQ(arguments.spanPlaces,
              graph->pointer<int32_t>(graph->table(graph->layout.spanPlaces)));
    EXPECT_EQ(arguments.placeCount, context.plan.spanPlaces);
    EXPECT_EQ(arguments.rows.pagesPerSequence, 1);
    ++found;
  }
  EXPECT_EQ(found, 2 * 2);
  // A tile is 32 rows with groups of two heads.
  ASSERT_EQ(graph->attention().tileRows.size(), 1u);
  EXPECT_EQ(graph->attention().tileRows[0], 32);
  // The places move with their rows.
  for (const GraphNode &each : graph->nodes)
    if (const auto &node = std::get<KernelNode>(each);
        nameOf(node.function) == "sluice_compact") {
      CompactArguments arguments;
      std::memcpy(&arguments, node.words.data(), sizeof(arguments));
      EXPECT_NE(
          std::find(
              arguments.states, arguments.states + arguments.stateCount,
              graph->pointer<int32_t>(graph->table(graph->layout.spanPlaces))),
          arguments.states + arguments.stateCount);
    }
  build(cpu::TinyPart::Whole, 16);
  EXPECT_TRUE(graph->attention().tileRows.empty());
}

TEST_F(StepGraphTest, LargeGraphsHaveTheLibrarysProducts) {
  using testing::HasSubstr;
  std::vector<std::string> lines =
      build(cpu::TinyPart::Whole, 256, 227 << 10, true);
  // For bf16 without a bias, the library's sums are the results.
  auto at =
      std::find(lines.begin(), lines.end(), "sluice_dense_weight_bf16 1,2,1");
  ASSERT_NE(at, lines.end());
  EXPECT_EQ(at[1], "product 256x128x32");
  EXPECT_THAT(at[2], testing::Not(HasSubstr("dense")));
  // Other sums go through a kernel that finishes them.
  at = std::find(lines.begin(), lines.end(), "sluice_dense_weight_q4_0 1,4,1");
  ASSERT_NE(at, lines.end());
  EXPECT_EQ(at[1], "product 256x128x64");
  EXPECT_EQ(at[2], "sluice_dense_results_f16 1,32,1");
  // The library may take several kernels for a product.
  int64_t products = std::count_if(
      graph->nodes.begin(), graph->nodes.end(), [](const GraphNode &node) {
        return std::holds_alternative<ProductNode>(node);
      });
  EXPECT_GT(products, 0);
  EXPECT_EQ(graph->kernelCount,
            std::ssize(graph->nodes) +
                products * (StepGraph::kernelsOfProduct - 1));
  // f32 weights have no 16-bit operands.
  EXPECT_THAT(lines, testing::Contains("sluice_linear_f32_64 1,1,4"));
  EXPECT_THAT(build(cpu::TinyPart::Whole, 128, 227 << 10, true),
              testing::Not(testing::Contains(HasSubstr("dense"))));
}

TEST_F(StepGraphTest, CheckpointsMoveAsManyValuesAsThereAre) {
  std::vector<std::string> lines =
      build(cpu::TinyPart::WholeWithCheckpoints, 8);
  EXPECT_EQ(graph->checkpoints, 11);
  EXPECT_EQ(graph->checkpointsBeforeOutputs, 9);
  // Nine values take two kernels.
  auto at = std::find(lines.begin(), lines.end(), "sluice_move_values 4,8,1");
  ASSERT_NE(at, lines.end());
  EXPECT_EQ(at[1], "sluice_move_values 4,1,1");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "sluice_compact 1,1,1"), 11);
}

TEST_F(StepGraphTest, StagesReceiveAndSend) {
  build(cpu::TinyPart::FirstStage, 4);
  EXPECT_NE(graph->sent, 0u);
  build(cpu::TinyPart::SecondStage, 4);
  EXPECT_EQ(graph->sent, 0u);
  EXPECT_EQ(graph->received, graph->recordsAt(device::RecordKind::Rows, 0));
}

/// Names are listed both with and without making the nodes.
TEST_F(StepGraphTest, NodesHaveNames) {
  for (cpu::TinyPart part :
       {cpu::TinyPart::WholeWithCheckpoints, cpu::TinyPart::SecondStage})
    for (int64_t rows : {1, 256})
      for (bool fastMathBatch : {false, true}) {
        isLaunched = true;
        std::vector<std::string> expected;
        for (const std::string &line :
             build(part, rows, 227 << 10, fastMathBatch))
          expected.push_back(line.starts_with("product")
                                 ? productNodeName
                                 : line.substr(0, line.find(' ')));
        EXPECT_EQ(names, expected);
        isLaunched = false;
        EXPECT_TRUE(build(part, rows, 227 << 10, fastMathBatch).empty());
        EXPECT_EQ(names, expected);
      }
}
