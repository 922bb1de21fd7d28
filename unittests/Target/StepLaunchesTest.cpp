//===- StepLaunchesTest.cpp - tests of StepLaunches.h ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Target/StepLaunches.h"

#include "sluice/Conversion/Passes.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/InitAll.h"
#include "sluice/Planning/Passes.h"
#include "sluice/Target/DescriptorBuilder.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace sluice;

namespace {

/// A layer with queries from two products of one weight, biases, a gate with
/// its partner, and ALiBi's slopes.
constexpr char model[] = R"(
!wide = tensor<256x128x!sluice.block<q8_0>>
!square = tensor<128x128x!sluice.block<q8_0>>
!narrow = tensor<64x128xbf16>
!down = tensor<128x256x!sluice.block<q4_0>>
!cache = !sluice.cache<kv_heads = 1, head_dim = 64>
!rows = tensor<?x128xf32>
!n = tensor<128xf32>

sluice.file @f path "m.gguf" size 1000000 identity "0123456789abcdef"
sluice.weight @token_embd.weight in @f at 0 stored f16 : tensor<100x128xf16>
sluice.weight @blk.0.attn_norm.weight in @f at 0 stored f32 : !n
sluice.weight @blk.0.attn_q.weight in @f at 0 stored q8_0 : !square
sluice.weight @blk.0.attn_q.bias in @f at 0 stored f32 : !n
sluice.weight @blk.0.attn_k.weight in @f at 0 stored bf16 : !narrow
sluice.weight @blk.0.attn_v.weight in @f at 0 stored bf16 : !narrow
sluice.weight @blk.0.ffn_gate.weight in @f at 0 stored q8_0 : !wide
sluice.weight @blk.0.ffn_up.weight in @f at 0 stored q8_0 : !wide
sluice.weight @blk.0.ffn_down.weight in @f at 0 stored q4_0 : !down

sluice.model @main(%batch: !sluice.batch) attributes {
    architecture = "llama", model_name = "tiny", vocab_size = 100 : i64,
    context_length = 128 : i64} {
  %embd = sluice.param @token_embd.weight : tensor<100x128xf16>
  %h = sluice.embed %batch, %embd by token : tensor<100x128xf16> -> !rows
  %h1 = sluice.layer 0 (%x = %h) : !rows {
    %n = sluice.param @blk.0.attn_norm.weight : !n
    %wq = sluice.param @blk.0.attn_q.weight : !square
    %bq = sluice.param @blk.0.attn_q.bias : !n
    %wk = sluice.param @blk.0.attn_k.weight : !narrow
    %wv = sluice.param @blk.0.attn_v.weight : !narrow
    %wg = sluice.param @blk.0.ffn_gate.weight : !wide
    %wu = sluice.param @blk.0.ffn_up.weight : !wide
    %wd = sluice.param @blk.0.ffn_down.weight : !down
    %c = sluice.layer_cache : !cache
    %a = sluice.rms_norm %x, %n epsilon 1.0e-5 : !rows, !n
    %q0 = sluice.linear %a, %wq bias %bq columns 0 to 48 : !rows, !square, !n -> tensor<?x48xf32>
    %q1 = sluice.linear %a, %wq bias %bq columns 48 to 128 : !rows, !square, !n -> tensor<?x80xf32>
    %q = sluice.concat %q0, %q1 : tensor<?x48xf32>, tensor<?x80xf32> -> !rows
    %k = sluice.linear %a, %wk : !rows, !narrow -> tensor<?x64xf32>
    %v = sluice.linear %a, %wv : !rows, !narrow -> tensor<?x64xf32>
    %t = sluice.attend %q, %k, %v, %c, %batch heads 2 scale 0.125 alibi 1.0 : !rows, tensor<?x64xf32>, !cache
    %g = sluice.linear %t, %wg : !rows, !wide -> tensor<?x256xf32>
    %u = sluice.linear %t, %wu : !rows, !wide -> tensor<?x256xf32>
    %f = sluice.gate silu %g, %u : tensor<?x256xf32>
    %d = sluice.linear %f, %wd : tensor<?x256xf32>, !down -> !rows
    %y = sluice.add %x, %d : !rows
    sluice.yield %y : !rows
  }
  %s = sluice.select_outputs %h1, %batch : !rows
  %logits = sluice.linear %s, %embd : !rows, tensor<100x128xf16> -> tensor<?x100xf32>
  sluice.return %logits : tensor<?x100xf32>
}
)";

class StepLaunchesTest : public testing::Test {
protected:
  StepLaunchesTest() {
    DialectRegistry registry;
    sluice::registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(model, ParserConfig(&context));
    if (!module)
      return;
    PassManager passes(&context);
    PlanStepOptions plan;
    plan.target = "#sluice.cuda";
    buildPlanPipeline(passes, plan);
    ConvertSluiceToCUDAOptions options;
    options.arch = {"emulator"};
    passes.addPass(createConvertSluiceToCUDA(options));
    if (failed(passes.run(*module)))
      module = nullptr;
  }

  Expected<std::vector<StepLaunch>> list(int64_t rows) {
    Expected<ExecutableDescriptor> executable = buildDescriptor(*module);
    if (!executable)
      return executable.status();
    return listLaunches(*module, *executable, executable->programs.front(),
                        rows);
  }

  /// Returns the launch's number of its work, node (with a star for a generated
  /// kernel), purpose, product, bytes and layer.
  static std::string textOf(const StepLaunch &launch) {
    return std::to_string(launch.work) + " " + launch.node +
           (launch.isGenerated ? "*" : "") + " (" + launch.purpose + ") " +
           launch.product + " " + std::to_string(launch.weightBytes) + " " +
           (launch.layer ? std::to_string(*launch.layer) : "-");
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(StepLaunchesTest, OneRow) {
  ASSERT_TRUE(module);
  Expected<std::vector<StepLaunch>> launches = list(1);
  ASSERT_TRUE(launches) << launches.status().message();
  std::vector<std::string> lines;
  for (const StepLaunch &launch : *launches)
    lines.push_back(textOf(launch));
  // A tile of 16 columns and 128 features has 2176 bytes in q8_0, 1152 in q4_0
  // and 4096 in 16 bits. A bias has a number for each column.
  EXPECT_THAT(
      lines,
      testing::ElementsAre(
          "0 sluice_embed_f16 (rows of token_embd)  256 -",
          "1 rows_rms_norm_to_operand_to_operand* (attn_norm)  512 0",
          "2 sluice_linear_q8_0_8 (attn_q[0:48], bias; attn_q[48:128], bias) "
          "attn_q[0:48], attn_q[48:128] 17920 0",
          "4 sluice_linear_bf16_8 (attn_k; attn_v) attn_k, attn_v 32768 0",
          "6 rows_concat* ()  0 0",
          "7 sluice_append_cache (keys and values)  0 0",
          "8 sluice_attend_f16_64 (attention; operand of ffn_gate+ffn_up)  0 0",
          "10 sluice_linear_q8_0_8 (ffn_gate+ffn_up, silu; operand of "
          "ffn_down) ffn_gate+ffn_up 69632 0",
          "12 sluice_linear_q4_0_8 (ffn_down, residual) ffn_down 18432 0",
          "13 rows_select_outputs_to_operand* ()  0 -",
          "14 sluice_linear_f16_8 (token_embd) token_embd 28672 -",
          "15 greedy_tokens* ()  0 -", "16 sluice_sample_search (drawing)  0 -",
          "16 sluice_sample_merge (drawing)  0 -"));
}

/// Attention has a kernel for prompts, which is the first launch of its work.
/// The kernels for prompts compute one weight each, and no operands.
TEST_F(StepLaunchesTest, RowsOfPrompts) {
  ASSERT_TRUE(module);
  Expected<std::vector<StepLaunch>> few = list(1), many = list(256);
  ASSERT_TRUE(few && many);
  std::vector<std::string> nodes;
  for (const StepLaunch &launch : *many)
    if (launch.purpose == "attention")
      nodes.push_back(launch.node);
  EXPECT_THAT(nodes, testing::ElementsAre("sluice_attend_tile_f16_64",
                                          "sluice_attend_f16_64"));
  EXPECT_EQ(many->size(), few->size() + 5);
  EXPECT_EQ(many->at(3).purpose, "attn_q[48:128], bias");
  EXPECT_EQ(many->at(3).work, many->at(2).work);
  EXPECT_EQ(many->at(10).purpose, "operand of ffn_gate+ffn_up");
  EXPECT_EQ(many->back().work, few->back().work);
  // A row of the table is read for each row of the step, and each weight once.
  EXPECT_EQ(many->front().weightBytes, 256 * few->front().weightBytes);
  auto bytesBehindTable = [](const std::vector<StepLaunch> &launches) {
    uint64_t bytes = 0;
    for (const StepLaunch &launch : llvm::drop_begin(launches))
      bytes += launch.weightBytes;
    return bytes;
  };
  EXPECT_EQ(bytesBehindTable(*many), bytesBehindTable(*few));
}

TEST_F(StepLaunchesTest, WhatTheRuntimeRefuses) {
  ASSERT_TRUE(module);
  EXPECT_EQ(list(0).status().message(),
            "executor: rows: 0 is not between 1 and 32768");
}

} // namespace
