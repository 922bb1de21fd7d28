//===- RopeScalingTest.cpp - the frequencies of scaled rotary embeddings --===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expected values come from the published formulas and were computed
// independently of the code, for 16 rotated features, which are eight pairs.
//
//===----------------------------------------------------------------------===//

#include "ModuleFixture.h"
#include "sluice/Dialect/Sluice/IR/RopeFrequencies.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace sluice;
using namespace sluice::interpreter;

namespace {

class RopeScalingTest : public ModuleFixture {
protected:
  /// Parses a model whose only op is a rope. `options` is the op's text from
  /// its base on.
  ir::RopeOp parseRope(const std::string &options) {
    writeFile(std::vector<float>(256));
    mlir::ModuleOp op = parse(R"(
      sluice.weight @table in @f0 at 0 stored f32 : tensor<16x16xf32>
      sluice.model @main(%batch: !sluice.batch) attributes {
          architecture = "test", model_name = "rope", vocab_size = 16 : i64,
          context_length = 16 : i64} {
        %table = sluice.param @table : tensor<16x16xf32>
        %h = sluice.embed %batch, %table by token
          : tensor<16x16xf32> -> tensor<?x16xf32>
        %y = sluice.rope %h, %batch half heads 1 head_dim 16 rotary_dim 16
          base )" + options + R"( : tensor<?x16xf32>
        sluice.return %y : tensor<?x16xf32>
      })");
    ir::RopeOp rope;
    op.walk([&](ir::RopeOp found) { rope = found; });
    return rope;
  }

  static void expectInverse(const ir::RopeFrequencies &actual,
                            const std::vector<double> &expected) {
    ASSERT_EQ(actual.inverse.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(actual.inverse[i] / expected[i], 1, 1e-6) << "pair " << i;
  }
};

TEST_F(RopeScalingTest, None) {
  ir::RopeFrequencies plain =
      ir::computeRopeFrequencies(parseRope("1.0e4"), {});
  expectInverse(plain, {1, std::sqrt(0.1), 0.1, std::sqrt(0.001), 0.01,
                        std::sqrt(1e-5), 0.001, std::sqrt(1e-7)});
  EXPECT_EQ(plain.attentionFactor, 1);
}

TEST_F(RopeScalingTest, FactorsDivideOneByOne) {
  std::vector<float> factors = {1, 2, 4, 8, 10, 16, 20, 32};
  expectInverse(ir::computeRopeFrequencies(parseRope("1.0e4"), factors),
                {1, std::sqrt(0.1) / 2, 0.1 / 4, std::sqrt(0.001) / 8,
                 0.01 / 10, std::sqrt(1e-5) / 16, 0.001 / 20,
                 std::sqrt(1e-7) / 32});
}

TEST_F(RopeScalingTest, Linear) {
  ir::RopeOp rope =
      parseRope("1.0e4 scaling(#sluice.linear_scaling<factor = 4.0>)");
  expectInverse(ir::computeRopeFrequencies(rope, {}),
                {0.25, std::sqrt(0.1) / 4, 0.025, std::sqrt(0.001) / 4, 0.0025,
                 std::sqrt(1e-5) / 4, 0.00025, std::sqrt(1e-7) / 4});
}

TEST_F(RopeScalingTest, Llama3StretchesLongWavelengths) {
  // The wavelengths 6.28, 32.4, 167 and 862 stay; 4443 is between 8192 / 4 and
  // 8192 / 1; the others are stretched.
  ir::RopeOp rope =
      parseRope("5.0e5 scaling(#sluice.llama3_scaling<factor = 8.0, "
                "low_freq_factor = 1.0, high_freq_factor = 4.0, "
                "original_context = 8192>)");
  expectInverse(ir::computeRopeFrequencies(rope, {}),
                {1.0, 0.19392274474868576, 0.03760603093086393,
                 0.007292664737217109, 0.0005248461609929547,
                 3.428102195952591e-05, 6.647869871181235e-06,
                 1.2891731721515574e-06});
}

TEST_F(RopeScalingTest, YarnBlendsByARamp) {
  std::string scaling =
      "1.0e4 scaling(#sluice.yarn_scaling<factor = 4.0, original_context = "
      "2048, beta_fast = 32.0, beta_slow = 1.0, attention_factor = 1.5, "
      "truncate = ";
  ir::RopeFrequencies truncated =
      ir::computeRopeFrequencies(parseRope(scaling + "true>)"), {});
  expectInverse(truncated,
                {1.0, 0.31622776601683794, 0.1, 0.02569350598886808, 0.00625,
                 0.001383496476323666, 0.00025, 7.905694150420948e-05});
  EXPECT_EQ(truncated.attentionFactor, 1.5f);
  expectInverse(ir::computeRopeFrequencies(parseRope(scaling + "false>)"), {}),
                {1.0, 0.31622776601683794, 0.1, 0.023870192321736323,
                 0.005056971521129435, 0.000811290381701431, 0.00025,
                 7.905694150420948e-05});
}

} // namespace
