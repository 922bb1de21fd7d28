//===- InterfacesTest.cpp - row semantics and costs of every op -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <map>

using namespace mlir;
using namespace sluice::ir;

// A module for two members with one of each op that works on rows, and three
// linear layers.
static constexpr const char *moduleText = R"mlir(
sluice.file @f0 path "model.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @table in @f0 at 0 stored q8_0 : tensor<96x64x!sluice.block<q8_0>>
sluice.weight @f32 in @f0 at 0 stored f32 : tensor<64xf32>
sluice.weight @f16 in @f0 at 0 stored f16 : tensor<64xf16>
sluice.weight @lazy in @f0 at 0 stored f32 : tensor<128x64x!sluice.block<q4_0>>
sluice.weight @bias in @f0 at 0 stored f32 : tensor<128xf32>
sluice.weight @conv1d in @f0 at 0 stored f16 : tensor<64x128xf16>
sluice.model @main(%batch: !sluice.batch) attributes {architecture = "llama",
    model_name = "m", vocab_size = 96, context_length = 8,
    tensor_parallel = 2} {
  %table = sluice.param @table : tensor<96x64x!sluice.block<q8_0>>
  %h0 = sluice.embed %batch, %table by token
    : tensor<96x64x!sluice.block<q8_0>> -> tensor<?x64xf32>
  %h1 = sluice.layer 0 (%x = %h0) : tensor<?x64xf32> {
    %f32 = sluice.param @f32 : tensor<64xf32>
    %f16 = sluice.param @f16 : tensor<64xf16>
    %lazy = sluice.param @lazy : tensor<128x64x!sluice.block<q4_0>>
    %bias = sluice.param @bias : tensor<128xf32>
    %n = sluice.layer_norm %x, %f16 bias %f32 epsilon 1.0e-05
      : tensor<?x64xf32>, tensor<64xf16>, tensor<64xf32>
    %qkv = sluice.linear %n, %lazy bias %bias
      : tensor<?x64xf32>, tensor<128x64x!sluice.block<q4_0>>, tensor<128xf32>
      -> tensor<?x128xf32>
    %q, %k, %v = sluice.split_qkv %qkv concat heads 2 kv_heads 1 head_dim 32
      : tensor<?x128xf32>
      -> tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32>
    %r = sluice.rope %q, %batch half heads 2 head_dim 32 rotary_dim 16
      base 10000.0 : tensor<?x64xf32>
    %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 32>
    %a = sluice.attend %r, %k, %v, %cache, %batch heads 2 scale 0.125
      : tensor<?x64xf32>, tensor<?x32xf32>,
        !sluice.cache<kv_heads = 1, head_dim = 32>
    %y = sluice.add %x, %a : tensor<?x64xf32>
    sluice.yield %y : tensor<?x64xf32>
  }
  %f32 = sluice.param @f32 : tensor<64xf32>
  %n = sluice.rms_norm %h1, %f32 epsilon 1.0e-05
    : tensor<?x64xf32>, tensor<64xf32>
  %act = sluice.activation gelu %n : tensor<?x64xf32>
  %gate = sluice.gate silu %act, %n : tensor<?x64xf32>
  %o = sluice.select_outputs %gate, %batch : tensor<?x64xf32>
  %conv1d = sluice.param @conv1d : tensor<64x128xf16>
  %l = sluice.linear %o, %conv1d transposed
    : tensor<?x64xf32>, tensor<64x128xf16> -> tensor<?x128xf32>
  %b1, %o1 = sluice.checkpoint %batch, %o : tensor<?x64xf32>
  %p = sluice.linear %o1, %table columns 0 to 32
    : tensor<?x64xf32>, tensor<96x64x!sluice.block<q8_0>> -> tensor<?x32xf32>
  %q = sluice.linear %o1, %table columns 32 to 96
    : tensor<?x64xf32>, tensor<96x64x!sluice.block<q8_0>> -> tensor<?x64xf32>
  %logits = sluice.concat %p, %q
    : tensor<?x32xf32>, tensor<?x64xf32> -> tensor<?x96xf32>
  %both = sluice.all_gather %p : tensor<?x32xf32> -> tensor<?x64xf32>
  %sum = sluice.all_reduce %logits : tensor<?x96xf32>
  sluice.return %sum : tensor<?x96xf32>
}
)mlir";

namespace {

struct Expected {
  RowSemantics semantics;
  int64_t flopsPerRow = 0;
  int64_t weightBytes = 0;
  int64_t bytesPerRow = 0;
  int64_t flopsPerRowAndPosition = 0;
  int64_t cacheBytesPerPosition = 0;
  int64_t linkRounds = 0;
  int64_t linkBytesPerRow = 0;
};

constexpr auto rowWise = RowSemantics::RowWise;
constexpr auto perSequence = RowSemantics::PerSequence;

/// The expected values, in the order of the module's text. A layer comes after
/// the ops in it.
const std::pair<const char *, Expected> expectedOps[] = {
    // A row of the table is two blocks of 34 bytes; f32[64] is written.
    {"sluice.embed", {rowWise, 0, 0, 2 * 34 + 64 * 4}},
    {"sluice.layer_norm", {rowWise, 7 * 64, 64 * 2 + 64 * 4, 2 * 64 * 4}},
    // The weight is quantised while it is loaded. The bytes are those of the
    // computed format.
    {"sluice.linear",
     {rowWise, 2 * 64 * 128 + 128, 128 * 2 * 18 + 128 * 4, (64 + 128) * 4}},
    {"sluice.split_qkv", {rowWise, 0, 0, 2 * 128 * 4}},
    {"sluice.rope", {rowWise, 3 * 2 * 16, 0, 2 * 64 * 4}},
    {"sluice.attend",
     {perSequence, 0, 0, (64 + 32 + 32 + 64) * 4, 2 * (4 * 32 + 10),
      2 * 32 * 4}},
    {"sluice.add", {rowWise, 64, 0, 3 * 64 * 4}},
    {"sluice.layer",
     {perSequence, 7 * 64 + 2 * 64 * 128 + 128 + 3 * 2 * 16 + 64,
      64 * 2 + 64 * 4 + 128 * 2 * 18 + 128 * 4,
      (2 * 64 + 64 + 128 + 2 * 128 + 2 * 64 + 192 + 3 * 64) * 4,
      2 * (4 * 32 + 10), 2 * 32 * 4}},
    {"sluice.rms_norm", {rowWise, 4 * 64, 64 * 4, 2 * 64 * 4}},
    {"sluice.activation", {rowWise, 12 * 64, 0, 2 * 64 * 4}},
    {"sluice.gate", {rowWise, 13 * 64, 0, 3 * 64 * 4}},
    {"sluice.select_outputs", {rowWise, 0, 0, 2 * 64 * 4}},
    {"sluice.linear", {rowWise, 2 * 64 * 128, 64 * 128 * 2, (64 + 128) * 4}},
    {"sluice.checkpoint", {rowWise, 0, 0, 2 * 64 * 4}},
    // These are the columns of one product. Together they cost as much as the
    // whole.
    {"sluice.linear", {rowWise, 2 * 64 * 32, 32 * 2 * 34, (64 + 32) * 4}},
    {"sluice.linear", {rowWise, 2 * 64 * 64, 64 * 2 * 34, (64 + 64) * 4}},
    {"sluice.concat", {rowWise, 0, 0, 2 * 96 * 4}},
    // In the first, a member sends its part to the other; in the second, the
    // other's share of the rows, and then the sums of its own share.
    {"sluice.all_gather", {rowWise, 0, 0, (32 + 64) * 4, 0, 0, 1, 32 * 4}},
    {"sluice.all_reduce", {rowWise, 48, 0, 2 * 96 * 4, 0, 0, 2, 2 * 48 * 4}},
};

/// Ops that stand in a step but compute no rows, so they have no costs.
const char *const structuralOps[] = {
    "sluice.forward", "sluice.layer_cache", "sluice.param", "sluice.receive",
    "sluice.return",  "sluice.send",        "sluice.shard", "sluice.yield"};

/// Row-wise ops that only the row loops of the phase `plan` hold.
const char *const opsOfRowLoops[] = {
    "sluice.received_rows", "sluice.send_rows", "sluice.rotations",
    "sluice.rotate",        "sluice.add_bias",  "sluice.to_operand"};

/// Ops that are never fused, since they do not stand in the step of a model,
/// stage or worker: symbols, ops that hold steps, ops of requests, planned
/// steps with their tasks, and ops beside emitted code.
const char *const opsOutsideSteps[] = {"sluice.step",
                                       "sluice.results",
                                       "sluice.buffer",
                                       "sluice.cache",
                                       "sluice.rope_table",
                                       "sluice.barrier",
                                       "sluice.task.rows",
                                       "sluice.task.yield",
                                       "sluice.task.product",
                                       "sluice.task.append",
                                       "sluice.task.attend",
                                       "sluice.task.exchange",
                                       "sluice.task.checkpoint",
                                       "sluice.task.sample",
                                       "sluice.channel",
                                       "sluice.commit",
                                       "sluice.emit",
                                       "sluice.end",
                                       "sluice.file",
                                       "sluice.generate",
                                       "sluice.group",
                                       "sluice.launch",
                                       "sluice.model",
                                       "sluice.slice",
                                       "sluice.pipeline",
                                       "sluice.deployment",
                                       "sluice.program",
                                       "sluice.rank",
                                       "sluice.speculate",
                                       "sluice.stage",
                                       "sluice.tokenizer",
                                       "sluice.verify",
                                       "sluice.view",
                                       "sluice.start_dependents",
                                       "sluice.wait_for_prior",
                                       "sluice.weight",
                                       "sluice.worker"};

class InterfacesTest : public testing::Test {
protected:
  InterfacesTest() { context.loadDialect<SluiceDialect>(); }

  MLIRContext context;
};

} // namespace

TEST_F(InterfacesTest, costsAndSemanticsOfEachOp) {
  auto module = parseSourceString<ModuleOp>(moduleText, &context);
  ASSERT_TRUE(module);
  SmallVector<Operation *> ops;
  module->walk([&](CostInterface op) { ops.push_back(op); });
  ASSERT_EQ(ops.size(), std::size(expectedOps));
  for (auto [op, entry] : llvm::zip(ops, expectedOps)) {
    const auto &[name, expected] = entry;
    SCOPED_TRACE(name);
    ASSERT_EQ(op->getName().getStringRef(), name);
    EXPECT_EQ(cast<RowSemanticsInterface>(op).getRowSemantics(),
              expected.semantics);
    auto cost = cast<CostInterface>(op);
    EXPECT_EQ(cost.getFlopsPerRow(), expected.flopsPerRow);
    EXPECT_EQ(cost.getWeightBytes(), expected.weightBytes);
    EXPECT_EQ(cost.getBytesPerRow(), expected.bytesPerRow);
    EXPECT_EQ(cost.getFlopsPerRowAndPosition(),
              expected.flopsPerRowAndPosition);
    EXPECT_EQ(cost.getCacheBytesPerPosition(), expected.cacheBytesPerPosition);
    EXPECT_EQ(cost.getLinkRounds(), expected.linkRounds);
    EXPECT_EQ(cost.getLinkBytesPerRow(), expected.linkBytesPerRow);
  }
}

TEST_F(InterfacesTest, layerWithoutAttentionIsRowWise) {
  auto module = parseSourceString<ModuleOp>(R"mlir(
    sluice.file @f0 path "m" size 4096 identity "0123456789abcdef"
    sluice.weight @t in @f0 at 0 stored f32 : tensor<8x8xf32>
    sluice.model @main(%batch: !sluice.batch) attributes {architecture = "a",
        model_name = "m", vocab_size = 8, context_length = 8} {
      %t = sluice.param @t : tensor<8x8xf32>
      %h = sluice.embed %batch, %t by token
        : tensor<8x8xf32> -> tensor<?x8xf32>
      %y = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
        %z = sluice.add %x, %x : tensor<?x8xf32>
        sluice.yield %z : tensor<?x8xf32>
      }
      sluice.return %y : tensor<?x8xf32>
    })mlir",
                                            &context);
  ASSERT_TRUE(module);
  module->walk([](LayerOp layer) {
    EXPECT_EQ(layer.getRowSemantics(), RowSemantics::RowWise);
  });
}

TEST_F(InterfacesTest, whatBringsWeightsInOrPassesRowsOnIsStructural) {
  auto module = parseSourceString<ModuleOp>(moduleText, &context);
  ASSERT_TRUE(module);
  int64_t count = 0;
  module->walk([&](RowSemanticsInterface op) {
    if (isa<CostInterface>(*op))
      return;
    EXPECT_EQ(op.getRowSemantics(), RowSemantics::Structural);
    EXPECT_TRUE(
        llvm::is_contained(structuralOps, op->getName().getStringRef()));
    ++count;
  });
  EXPECT_GT(count, 0);
}

// A new op must be added to one of the four tables above; else this test fails.
TEST_F(InterfacesTest, everyOpThatStandsInAStepSaysWhatItsRowsDependOn) {
  struct Has {
    bool semantics, costs;
  };
  std::map<StringRef, Has> known;
  for (const auto &[name, expected] : expectedOps)
    known[name] = {true, true};
  for (const char *name : opsOfRowLoops)
    known[name] = {true, true};
  for (const char *name : structuralOps)
    known[name] = {true, false};
  for (const char *name : opsOutsideSteps)
    known[name] = {false, false};
  size_t count = 0;
  for (RegisteredOperationName op : context.getRegisteredOperations()) {
    if (op.getDialectNamespace() != "sluice")
      continue;
    SCOPED_TRACE(op.getStringRef().str());
    auto entry = known.find(op.getStringRef());
    ASSERT_NE(entry, known.end());
    EXPECT_EQ(op.hasInterface<RowSemanticsInterface>(),
              entry->second.semantics);
    EXPECT_EQ(op.hasInterface<CostInterface>(), entry->second.costs);
    ++count;
  }
  EXPECT_EQ(count, known.size());
}
