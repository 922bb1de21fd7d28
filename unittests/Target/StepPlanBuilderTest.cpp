//===- StepPlanBuilderTest.cpp - a step's tasks as data -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Target/StepPlanBuilder.h"

#include "sluice/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace sluice;
using namespace sluice::device;

namespace {

/// A planned step with each kind of task, and the program that lists its
/// weights in another order than the tasks use them in.
constexpr char text[] = R"(
!rows = !sluice.buffer<rows, 64>
!outputs = !sluice.buffer<outputs, 64>
!cache = !sluice.cache<kv_heads = 2, head_dim = 16>
!kv = !sluice.buffer<rows, 32>
!table = !sluice.rope_table<4>

sluice.file @f path "m.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<100x64xf32>
sluice.weight @norm in @f at 0 stored f32 : tensor<64xf32>
sluice.weight @q in @f at 0 stored f32 : tensor<64x64xf32>
sluice.weight @qb in @f at 0 stored f32 : tensor<64xf32>
func.func @loop(%s: !llvm.ptr, %a: !llvm.ptr, %b: index, %e: index) { return }
func.func @select(%s: !llvm.ptr, %a: !llvm.ptr, %b: index, %e: index) { return }

sluice.step @main_step(%batch: !sluice.batch) target #sluice.cpu<avx2>
    attributes {architecture = "t", model_name = "t", vocab_size = 64,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 64, layers = 1,
    members = 2, row_floats = 592, output_floats = 64} {
  %embd = sluice.param @embd : tensor<100x64xf32>
  %norm = sluice.param @norm : tensor<64xf32>
  %q = sluice.param @q : tensor<64x64xf32>
  %qb = sluice.param @qb : tensor<64xf32>
  %t0 = sluice.rope_table <inverse = [1.0, 0.5], factor = 1.0> : !table
  %t1 = sluice.rope_table <inverse = [0.5, 0.25], factor = 1.0> : !table
  %c0 = sluice.cache 0 : !cache
  %c1 = sluice.cache 1 : !cache
  %h = sluice.buffer at 0 : !rows
  %y = sluice.buffer at 64 : !rows
  %k = sluice.buffer at 128 : !kv
  %v = sluice.buffer at 160 : !kv
  %r = sluice.buffer at 192 : !sluice.buffer<rows, 4>
  %a0 = sluice.buffer at 208 : !rows
  %a1 = sluice.buffer at 272 : !rows
  %sum = sluice.buffer at 336 : !rows
  %scratch = sluice.buffer at 400 : !sluice.buffer<rows, 128>
  %a2 = sluice.buffer at 528 : !rows
  %o = sluice.buffer at 0 : !outputs
  sluice.task.rows rows kernel @loop
      weights(%table = %embd : tensor<100x64xf32>, %w = %norm : tensor<64xf32>,
              %f = %t1 : !table)
      writes(%h : !rows, %r : !sluice.buffer<rows, 4>) {
    %x = sluice.embed %batch, %table by token
      : tensor<100x64xf32> -> tensor<?x64xf32>
    %n = sluice.rms_norm %x, %w epsilon 1.0e-5
      : tensor<?x64xf32>, tensor<64xf32>
    %c = sluice.rotations %batch, %f : !table -> tensor<?x4xf32>
    sluice.task.yield %n, %c : tensor<?x64xf32>, tensor<?x4xf32>
  }
  sluice.barrier
  sluice.task.product rows %h, %q bias %qb into %y
    : !rows, tensor<64x64xf32> bias tensor<64xf32> -> !rows
  sluice.task.product rows %h, %q columns 16 to 48 into %k
    : !rows, tensor<64x64xf32> -> !kv
  sluice.task.product rows %h, %q transposed columns 32 to 64 into %v
    : !rows, tensor<64x64xf32> -> !kv
  sluice.task.checkpoint %h, %y, %k, %v : !rows, !rows, !kv, !kv
  sluice.task.append %k, %v to %c1 : !kv, !kv, !cache
  sluice.barrier
  sluice.task.attend %y over %c0 into %a0 heads 4 scale 0.25
    : !rows over !cache -> !rows
  sluice.task.attend %y over %c1 into %a2 heads 4 scale 0.25
    : !rows over !cache -> !rows
  sluice.task.attend %y over %c1 into %a1 heads 4 scale 0.5 window 7
    softcap 30.0 alibi 1.0 of 8 from 4 : !rows over !cache -> !rows
  sluice.barrier
  sluice.task.exchange sum rows %a1 into %sum scratch %scratch
    : !rows -> !rows, !sluice.buffer<rows, 128>
  sluice.barrier
  sluice.task.rows outputs kernel @select reads(%x = %sum : !rows)
      writes(%o : !outputs) {
    %s = sluice.select_outputs %x, %batch : tensor<?x64xf32>
    sluice.task.yield %s : tensor<?x64xf32>
  }
  sluice.results %o : !outputs
}
sluice.program @main step @main_step cpu avx2 {
  architecture = "t", model_name = "t", vocab_size = 64, context_length = 8,
  eos_tokens = array<i64>, hidden_size = 64, layers = 1, row_floats = 592,
  output_floats = 64, logits_offset = 0, members = 2, checkpoints = 1,
  caches = [!cache, !cache],
  rope_tables = [#sluice.rope_table<inverse = [1.0, 0.5], factor = 1.0>,
                 #sluice.rope_table<inverse = [0.5, 0.25], factor = 1.0>],
  weights = [#sluice.weight_use<@q, linear>,
             #sluice.weight_use<@embd, rows>,
             #sluice.weight_use<@q, linear, transposed>,
             #sluice.weight_use<@qb, vector>,
             #sluice.weight_use<@norm, vector>]}
)";

/// A planned step for a GPU. Its kernels have been lowered.
constexpr char gpuText[] = R"(
!rows = !sluice.buffer<rows, 256>
!half = !sluice.buffer<rows, 256, <f16, floats = 148>>
!wide = !sluice.buffer<rows, 512>
!logits = !sluice.buffer<outputs, 256>
!found = !sluice.buffer<outputs, 6>
!w = tensor<512x256x!sluice.block<q8_0>>
!table = !sluice.rope_table<4>

sluice.file @f path "m.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<100x256xf32>
sluice.weight @norm in @f at 0 stored f32 : tensor<256xf32>
sluice.weight @gate in @f at 0 stored q8_0 : !w
sluice.weight @up in @f at 0 stored q8_0 : !w
sluice.weight @last in @f at 0 stored q8_0 : !w

sluice.step @main_step(%batch: !sluice.batch) target #sluice.cuda
    attributes {architecture = "t", model_name = "t", vocab_size = 256,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 256, layers = 1,
    row_floats = 1696, output_floats = 272} {
  %embd = sluice.param @embd : tensor<100x256xf32>
  %norm = sluice.param @norm : tensor<256xf32>
  %gate = sluice.param @gate : !w
  %up = sluice.param @up : !w
  %last = sluice.param @last : !w
  %t = sluice.rope_table <inverse = [1.0, 0.5], factor = 1.0> : !table
  %h = sluice.buffer at 0 : !rows
  %n = sluice.buffer at 256 : !half
  %m = sluice.buffer at 416 : !half
  %g = sluice.buffer at 576 : !wide
  %r = sluice.buffer at 1088 : !wide
  %o = sluice.buffer at 0 : !logits
  %p = sluice.buffer at 256 : !found
  sluice.task.rows rows runtime weights(%w = %embd : tensor<100x256xf32>)
      writes(%h : !rows) {
    %x = sluice.embed %batch, %w by position
      : tensor<100x256xf32> -> tensor<?x256xf32>
    sluice.task.yield %x : tensor<?x256xf32>
  }
  sluice.task.rows rows kernel @kernels::@norm threads 32 blocks 1
      reads(%x = %h : !rows)
      weights(%w = %norm : tensor<256xf32>, %f = %t : !table)
      writes(%n : !half) {
    %y = sluice.rms_norm %x, %w epsilon 1.0e-5
      : tensor<?x256xf32>, tensor<256xf32>
    %c = sluice.rotations %batch, %f : !table -> tensor<?x4xf32>
    %z = sluice.rotate %y by %c half heads 64 head_dim 4
      : tensor<?x256xf32>, tensor<?x4xf32>
    %q = sluice.to_operand %z as <f16, floats = 148> : tensor<?x256xf32>
    sluice.task.yield %q : tensor<?x256xf32>
  }
  sluice.task.rows rows runtime reads(%x = %h : !rows) writes(%m : !half) {
    %q = sluice.to_operand %x as <f16, floats = 148> : tensor<?x256xf32>
    sluice.task.yield %q : tensor<?x256xf32>
  }
  sluice.task.product rows %n, %gate gate gelu_tanh %up into %g
    : !half, !w gate !w -> !wide
  sluice.task.product rows %m, %last residual %g into %r
    : !half, !w residual !wide -> !wide
  sluice.task.rows outputs kernel @kernels::@select threads 128 blocks 4
      reads(%x = %h : !rows) writes(%o : !logits) {
    %s = sluice.select_outputs %x, %batch : tensor<?x256xf32>
    sluice.task.yield %s : tensor<?x256xf32>
  }
  sluice.task.sample %o parts %p kernels [
    #sluice.kernel<@kernels::@search, threads = 128, blocks = 3>,
    #sluice.kernel<@kernels::@merge, threads = 32, blocks = 1>]
    : !logits, !found
  sluice.results %o : !logits
}
sluice.program @main step @main_step cuda {
  architecture = "t", model_name = "t", vocab_size = 256, context_length = 8,
  eos_tokens = array<i64>, hidden_size = 256, layers = 1, row_floats = 1696,
  output_floats = 272, logits_offset = 0, caches = [],
  rope_tables = [#sluice.rope_table<inverse = [1.0, 0.5], factor = 1.0>],
  weights = [#sluice.weight_use<@embd, rows>,
             #sluice.weight_use<@norm, vector>,
             #sluice.weight_use<@gate, linear, partner @up>,
             #sluice.weight_use<@up, linear>,
             #sluice.weight_use<@last, linear>]}
)";

/// Loops of which the runtime knows all that they do, and one that rotates
/// what it has normalised.
constexpr char knownText[] = R"(
!rows = !sluice.buffer<rows, 256>
!half = !sluice.buffer<rows, 256, <f16, floats = 148>>
!brain = !sluice.buffer<rows, 256, <bf16, floats = 128>>
!table = !sluice.rope_table<4>
!r = tensor<?x256xf32>
!w = tensor<256xf32>

sluice.file @f path "m.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @embd in @f at 0 stored f32 : tensor<100x256xf32>
sluice.weight @scale in @f at 0 stored f32 : !w
sluice.weight @shift in @f at 0 stored f32 : !w

sluice.step @main_step(%batch: !sluice.batch) target #sluice.cuda
    attributes {architecture = "t", model_name = "t", vocab_size = 256,
    context_length = 8, eos_tokens = array<i64>, hidden_size = 256, layers = 1,
    row_floats = 4096, output_floats = 256} {
  %embd = sluice.param @embd : tensor<100x256xf32>
  %scale = sluice.param @scale : !w
  %shift = sluice.param @shift : !w
  %t = sluice.rope_table <inverse = [1.0, 0.5], factor = 1.0> : !table
  %h = sluice.buffer at 0 : !rows
  %n = sluice.buffer at 256 : !rows
  %a = sluice.buffer at 512 : !half
  %b = sluice.buffer at 672 : !brain
  %c = sluice.buffer at 800 : !half
  %q = sluice.buffer at 960 : !rows
  %k = sluice.buffer at 1216 : !rows
  %y = sluice.buffer at 1472 : !rows
  sluice.task.rows rows runtime weights(%x0 = %embd : tensor<100x256xf32>)
      writes(%h : !rows) {
    %x = sluice.embed %batch, %x0 by token : tensor<100x256xf32> -> !r
    sluice.task.yield %x : !r
  }
  sluice.task.rows rows kernel @kernels::@two threads 32 blocks 1
      reads(%x = %h : !rows) weights(%w = %scale : !w, %s = %shift : !w)
      writes(%n : !rows, %a : !half, %b : !brain, %c : !half) {
    %0 = sluice.layer_norm %x, %w bias %s epsilon 1.0e-5 : !r, !w, !w
    %1 = sluice.to_operand %0 as <f16, floats = 148> : !r
    %2 = sluice.to_operand %0 as <bf16, floats = 128> : !r
    %3 = sluice.to_operand %x as <f16, floats = 148> : !r
    sluice.task.yield %0, %1, %2, %3 : !r, !r, !r, !r
  }
  sluice.task.rows rows kernel @kernels::@turn threads 32 blocks 1
      reads(%x = %h : !rows, %z = %n : !rows) weights(%f = %t : !table)
      writes(%q : !rows, %k : !rows) {
    %0 = sluice.rotations %batch, %f : !table -> tensor<?x4xf32>
    %1 = sluice.rotate %x by %0 half heads 64 head_dim 4 : !r, tensor<?x4xf32>
    %2 = sluice.rotate %z by %0 interleaved heads 32 head_dim 8
      : !r, tensor<?x4xf32>
    sluice.task.yield %1, %2 : !r, !r
  }
  sluice.task.rows rows kernel @kernels::@both threads 32 blocks 1
      reads(%x = %q : !rows)
      weights(%w = %scale : !w, %f = %t : !table) writes(%y : !rows) {
    %0 = sluice.rms_norm %x, %w epsilon 1.0e-5 : !r, !w
    %1 = sluice.rotations %batch, %f : !table -> tensor<?x4xf32>
    %2 = sluice.rotate %0 by %1 half heads 64 head_dim 4 : !r, tensor<?x4xf32>
    sluice.task.yield %2 : !r
  }
  %o = sluice.buffer at 0 : !sluice.buffer<outputs, 256>
  sluice.task.rows outputs kernel @kernels::@select threads 128 blocks 4
      reads(%x = %y : !rows) writes(%o : !sluice.buffer<outputs, 256>) {
    %s = sluice.select_outputs %x, %batch : !r
    sluice.task.yield %s : !r
  }
  sluice.results %o : !sluice.buffer<outputs, 256>
}
sluice.program @main step @main_step cuda {
  architecture = "t", model_name = "t", vocab_size = 256, context_length = 8,
  eos_tokens = array<i64>, hidden_size = 256, layers = 1, row_floats = 4096,
  output_floats = 256, logits_offset = 0, caches = [],
  rope_tables = [#sluice.rope_table<inverse = [1.0, 0.5], factor = 1.0>],
  weights = [#sluice.weight_use<@embd, rows>,
             #sluice.weight_use<@scale, vector>,
             #sluice.weight_use<@shift, vector>]}
)";

class StepPlanBuilderTest : public testing::Test {
protected:
  explicit StepPlanBuilderTest(const char *source = text) : source(source) {}

  void SetUp() override {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(source, ParserConfig(&context));
    ASSERT_TRUE(module);
    plan = buildStepPlan(module->lookupSymbol<ir::StepOp>("main_step"),
                         module->lookupSymbol<ir::ProgramOp>("main"));
  }

  static void expectArguments(const RowLoopTask &loop,
                              std::vector<KernelArgument> expected) {
    ASSERT_EQ(loop.arguments.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(loop.arguments[i].kind, expected[i].kind) << i;
      EXPECT_EQ(loop.arguments[i].index, expected[i].index) << i;
      EXPECT_EQ(loop.arguments[i].part, expected[i].part) << i;
    }
  }

  template <typename Task> const Task &task(size_t number) {
    return std::get<Task>(plan.tasks.at(number));
  }

  const char *source;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  StepPlan plan;
};

class GpuStepPlanBuilderTest : public StepPlanBuilderTest {
protected:
  GpuStepPlanBuilderTest() : StepPlanBuilderTest(gpuText) {}
};

class KnownLoopsTest : public StepPlanBuilderTest {
protected:
  KnownLoopsTest() : StepPlanBuilderTest(knownText) {}
};

TEST_F(KnownLoopsTest, NormsAndOperands) {
  const auto &loop = task<RowLoopTask>(1);
  const RowNorm half = {RowNormKind::Layer, 1e-5f, 0, 1, 2, 1, 2,
                        OperandRows::F16};
  RowNorm brain = half;
  brain.output = noOperand;
  brain.operand = 3;
  brain.format = OperandRows::Bf16;
  RowNorm asRead;
  asRead.operand = 4;
  asRead.format = OperandRows::F16;
  EXPECT_EQ(loop.norms, (std::vector<RowNorm>{asRead, half, brain}));
  EXPECT_TRUE(loop.rotations.empty());
}

TEST_F(KnownLoopsTest, Rotations) {
  const auto &loop = task<RowLoopTask>(2);
  EXPECT_EQ(loop.rotations,
            (std::vector<RowRotation>{{0, 5, 0, 64, 4, 4, true},
                                      {1, 6, 0, 32, 8, 4, false}}));
  EXPECT_TRUE(loop.norms.empty());
}

TEST_F(KnownLoopsTest, LoopsThatDoMoreAreNotDescribed) {
  const auto &loop = task<RowLoopTask>(3);
  EXPECT_TRUE(loop.norms.empty());
  EXPECT_TRUE(loop.rotations.empty());
}

TEST_F(StepPlanBuilderTest, BuffersAreNumberedInOrder) {
  ASSERT_EQ(plan.tasks.size(), 15u);
  ASSERT_EQ(plan.buffers.size(), 11u);
  EXPECT_EQ(plan.buffers[2].kind, RecordKind::Rows);
  EXPECT_EQ(plan.buffers[2].floats, 32);
  EXPECT_EQ(plan.buffers[2].place, 128);
  EXPECT_EQ(plan.buffers[10].kind, RecordKind::Outputs);
  EXPECT_EQ(plan.buffers[10].place, 0);
}

TEST_F(StepPlanBuilderTest, RowLoopsHaveTheirOperands) {
  EXPECT_EQ(plan.kernelNames, (std::vector<std::string>{"loop", "select"}));
  const auto &loop = task<RowLoopTask>(0);
  EXPECT_EQ(loop.kind, RecordKind::Rows);
  EXPECT_EQ(loop.kernel, 0);
  EXPECT_EQ(loop.threads, 0);
  using Kind = KernelArgument::Kind;
  expectArguments(loop, {{Kind::Weight, 1},
                         {Kind::Weight, 4},
                         {Kind::RopeTable, 1},
                         {Kind::Buffer, 0},
                         {Kind::Buffer, 4}});
  const auto &select = task<RowLoopTask>(14);
  EXPECT_EQ(select.kind, RecordKind::Outputs);
  EXPECT_EQ(select.kernel, 1);
}

TEST_F(StepPlanBuilderTest, ProductsHaveTheirWeightsAndColumns) {
  const auto &whole = task<ProductTask>(2);
  EXPECT_EQ(whole.input, 0);
  EXPECT_EQ(whole.weight, 0);
  EXPECT_EQ(whole.bias, 3);
  EXPECT_EQ(whole.output, 1);
  EXPECT_EQ(whole.firstColumn, 0);
  EXPECT_EQ(whole.endColumn, 64);
  const auto &columns = task<ProductTask>(3);
  EXPECT_EQ(columns.weight, 0);
  EXPECT_EQ(columns.bias, noOperand);
  EXPECT_EQ(columns.firstColumn, 16);
  EXPECT_EQ(columns.endColumn, 48);
  EXPECT_EQ(task<ProductTask>(4).weight, 2);
}

TEST_F(StepPlanBuilderTest, CachesAttentionsAndExchanges) {
  EXPECT_EQ(task<CheckpointTask>(5).buffers,
            (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(task<AppendTask>(6).cache, 1);
  EXPECT_EQ(task<AttendTask>(8).attention, 0);
  EXPECT_EQ(task<AttendTask>(8).cache, 0);
  EXPECT_EQ(task<AttendTask>(9).attention, 0);
  EXPECT_EQ(task<AttendTask>(9).cache, 1);
  EXPECT_EQ(task<AttendTask>(10).attention, 1);
  ASSERT_EQ(plan.attentions.size(), 2u);
  EXPECT_EQ(plan.attentions[0], (PlannedAttention{4, 0, 0.25f, 0, {}}));
  // The slopes of the last four of eight heads.
  EXPECT_EQ(
      plan.attentions[1],
      (PlannedAttention{
          4, 7, 0.5f, 30.0f, {0.03125f, 0.015625f, 0.0078125f, 0.00390625f}}));
  const auto &exchange = task<ExchangeTask>(12);
  EXPECT_EQ(exchange.operation, ExchangeTask::Operation::Sum);
  EXPECT_EQ(exchange.input, 6);
  EXPECT_EQ(exchange.output, 7);
  EXPECT_EQ(exchange.scratch, 8);
  EXPECT_TRUE(std::holds_alternative<BarrierTask>(plan.tasks[13]));
}

TEST_F(GpuStepPlanBuilderTest, WhatTheRuntimeDoesByItself) {
  ASSERT_EQ(plan.tasks.size(), 8u);
  const auto &embed = task<EmbedTask>(0);
  EXPECT_EQ(embed.table, 0);
  EXPECT_TRUE(embed.byPosition);
  EXPECT_EQ(embed.output, 0);
  const auto &operand = task<OperandTask>(2);
  EXPECT_EQ(operand.kind, RecordKind::Rows);
  EXPECT_EQ(operand.format, OperandRows::F16);
  EXPECT_EQ(operand.input, 0);
  EXPECT_EQ(operand.output, 2);
}

/// The rows, sums and scales of an operand are arrays of their own; 256
/// features are 128 floats of rows, 8 of sums with 8 of padding, and a scale.
TEST_F(GpuStepPlanBuilderTest, KernelsHavePartsAndPositions) {
  const auto &loop = task<RowLoopTask>(1);
  EXPECT_EQ(plan.kernelNames[loop.kernel], "norm");
  EXPECT_EQ(loop.threads, 32);
  EXPECT_EQ(loop.blocks, 1);
  using Kind = KernelArgument::Kind;
  expectArguments(loop, {{Kind::Buffer, 0},
                         {Kind::Weight, 1},
                         {Kind::RopeTable, 0},
                         {Kind::Buffer, 1},
                         {Kind::Buffer, 1, 128},
                         {Kind::Buffer, 1, 144},
                         {Kind::Positions}});
  const auto &select = task<RowLoopTask>(5);
  EXPECT_EQ(select.kind, RecordKind::Outputs);
  EXPECT_EQ(select.blocks, 4);
  expectArguments(select,
                  {{Kind::Buffer, 0}, {Kind::Buffer, 5}, {Kind::OutputRows}});
}

TEST_F(GpuStepPlanBuilderTest, ProductsHaveGatesAndResiduals) {
  const auto &gated = task<ProductTask>(3);
  EXPECT_EQ(gated.weight, 2);
  EXPECT_EQ(gated.gate, ProductGate::GeluTanh);
  EXPECT_EQ(gated.residual, noOperand);
  const auto &sum = task<ProductTask>(4);
  EXPECT_EQ(sum.weight, 4);
  EXPECT_EQ(sum.gate, ProductGate::None);
  EXPECT_EQ(sum.residual, 3);
}

TEST_F(GpuStepPlanBuilderTest, TokensAreSearchedAndMerged) {
  using Kind = KernelArgument::Kind;
  EXPECT_TRUE(plan.findsTokens());
  const auto &search = task<RowLoopTask>(6);
  EXPECT_EQ(plan.kernelNames[search.kernel], "search");
  EXPECT_EQ(search.kind, RecordKind::Outputs);
  expectArguments(search, {{Kind::Buffer, 5}, {Kind::Buffer, 6}});
  const auto &merge = task<RowLoopTask>(7);
  EXPECT_EQ(plan.kernelNames[merge.kernel], "merge");
  expectArguments(merge, {{Kind::Buffer, 6}, {Kind::GreedyTokens}});
}

} // namespace
