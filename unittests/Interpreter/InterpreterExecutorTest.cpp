//===- InterpreterExecutorTest.cpp - tests of InterpreterExecutor.h -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Interpreter/InterpreterExecutor.h"

#include "ModuleFixture.h"
#include "runtime/device/test/ExecutorConformance.h"

#include <random>

using namespace sluice;
using namespace sluice::device;
using namespace sluice::device::test;
using namespace sluice::interpreter;

namespace {

constexpr int64_t vocabSize = 16, contextLength = 96;

/// Two layers of eight features, with two heads over one key head. Each layer
/// begins with a checkpoint.
const char *const text = R"(
  sluice.weight @table in @f0 at 0 stored f32 : tensor<16x8xf32>
  sluice.weight @wq in @f0 at 512 stored f32 : tensor<8x8xf32>
  sluice.weight @wk in @f0 at 768 stored f32 : tensor<4x8xf32>
  sluice.weight @wv in @f0 at 896 stored f32 : tensor<4x8xf32>
  sluice.model @main(%rows: !sluice.batch) attributes {
      architecture = "test", model_name = "tiny", vocab_size = 16 : i64,
      context_length = 96 : i64} {
    %table = sluice.param @table : tensor<16x8xf32>
    %h0 = sluice.embed %rows, %table by token
      : tensor<16x8xf32> -> tensor<?x8xf32>
    %b1, %c1 = sluice.checkpoint %rows, %h0 : tensor<?x8xf32>
    %h1 = sluice.layer 0 (%x = %c1) : tensor<?x8xf32> {
      %wq = sluice.param @wq : tensor<8x8xf32>
      %wk = sluice.param @wk : tensor<4x8xf32>
      %wv = sluice.param @wv : tensor<4x8xf32>
      %q = sluice.linear %x, %wq
        : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
      %k = sluice.linear %x, %wk
        : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
      %v = sluice.linear %x, %wv
        : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
      %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 4>
      %a = sluice.attend %q, %k, %v, %cache, %b1 heads 2 scale 0.5
        : tensor<?x8xf32>, tensor<?x4xf32>,
          !sluice.cache<kv_heads = 1, head_dim = 4>
      %y = sluice.add %x, %a : tensor<?x8xf32>
      sluice.yield %y : tensor<?x8xf32>
    }
    %b2, %c2 = sluice.checkpoint %b1, %h1 : tensor<?x8xf32>
    %h2 = sluice.layer 1 (%x = %c2) : tensor<?x8xf32> {
      %wk = sluice.param @wk : tensor<4x8xf32>
      %wv = sluice.param @wv : tensor<4x8xf32>
      %k = sluice.linear %x, %wk
        : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
      %v = sluice.linear %x, %wv
        : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
      %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 4>
      %a = sluice.attend %x, %k, %v, %cache, %b2 heads 2 scale 0.5
        : tensor<?x8xf32>, tensor<?x4xf32>,
          !sluice.cache<kv_heads = 1, head_dim = 4>
      %y = sluice.add %x, %a : tensor<?x8xf32>
      sluice.yield %y : tensor<?x8xf32>
    }
    %o = sluice.select_outputs %h2, %b2 : tensor<?x8xf32>
    %logits = sluice.linear %o, %table
      : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    sluice.return %logits : tensor<?x16xf32>
  })";

/// An executor with an interpreter of its own.
class OwnExecutor final : public StepExecutor {
public:
  OwnExecutor(mlir::ModuleOp module, const StepLimits &limits)
      : interpreter(Interpreter::create(module).take()),
        executor(interpreter, limits) {}
  bool hasEmbedding() const override { return executor.hasEmbedding(); }
  bool hasOutput() const override { return executor.hasOutput(); }
  int64_t vocabSize() const override { return executor.vocabSize(); }
  int64_t hiddenSize() const override { return executor.hiddenSize(); }
  int64_t outputLimit() const override { return executor.outputLimit(); }
  Status execute(const StepInput &input) override {
    return executor.execute(input);
  }
  std::span<const float> logits(int64_t output) const override {
    return executor.logits(output);
  }

private:
  Interpreter interpreter;
  InterpreterExecutor executor;
};

class InterpreterConformance
    : public ModuleFixture,
      public testing::WithParamInterface<ExecutorCase> {};

TEST_P(InterpreterConformance, Holds) {
  std::mt19937 random(1);
  std::vector<float> weights(256);
  for (float &weight : weights)
    weight = float(int(random() % 2001) - 1000) / 1000;
  writeFile(weights);
  mlir::ModuleOp module = parse(text);
  // It executes whole models only.
  ExecutorSetup setup = {
      vocabSize, contextLength, [&](const StepLimits &limits, bool) {
        ExecutorChain chain;
        chain.push_back(std::make_unique<OwnExecutor>(module, limits));
        return chain;
      }};
  Status status = GetParam().run(setup);
  EXPECT_TRUE(status.ok()) << status.message();
}

INSTANTIATE_TEST_SUITE_P(Cases, InterpreterConformance,
                         testing::ValuesIn(executorCases()),
                         [](const auto &info) { return info.param.name; });

} // namespace
