//===- RopeTableTest.cpp - rope tables whose factors are in a file --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Planning/RopeTables.h"
#include "unittests/Interpreter/ModuleFixture.h"

#include <cmath>
#include <limits>

using namespace sluice;
using namespace sluice::ir;

namespace {

class RopeTable : public interpreter::ModuleFixture {
protected:
  /// Computes the table of a rotation of four features, whose two factors are
  /// in a file.
  mlir::FailureOr<RopeTableAttr> compute(const std::string &where = "at 0") {
    mlir::ModuleOp parsed =
        parse("sluice.weight @w in @f0 at 0 stored f32 : tensor<1x4xf32>\n"
              "sluice.weight @factors in @f0 " +
              where + R"( stored f32 : tensor<2xf32>
        sluice.model @main(%batch: !sluice.batch) attributes {
            architecture = "t", model_name = "t", vocab_size = 1,
            context_length = 8} {
          %w = sluice.param @w : tensor<1x4xf32>
          %f = sluice.param @factors : tensor<2xf32>
          %x = sluice.embed %batch, %w by token
            : tensor<1x4xf32> -> tensor<?x4xf32>
          %y = sluice.rope %x, %batch factors %f half heads 1 head_dim 4
            rotary_dim 4 base 10000.0 : tensor<?x4xf32>, tensor<2xf32>
          %z = sluice.linear %y, %w : tensor<?x4xf32>, tensor<1x4xf32>
            -> tensor<?x1xf32>
          sluice.return %z : tensor<?x1xf32>
        })");
    mlir::FailureOr<RopeTableAttr> table = mlir::failure();
    parsed.walk([&](RopeOp op) { table = planning::computeRopeTable(op); });
    return table;
  }

  /// Returns the message of the error that compute() reports.
  std::string getError() {
    std::string message;
    mlir::ScopedDiagnosticHandler handler(&context,
                                          [&](mlir::Diagnostic &diagnostic) {
                                            message = diagnostic.str();
                                            return mlir::success();
                                          });
    EXPECT_TRUE(mlir::failed(compute()));
    return message;
  }
};

TEST_F(RopeTable, DividesFrequenciesByFactors) {
  writeFile({0.0f, 0.0f, 2.0f, 4.0f});
  mlir::FailureOr<RopeTableAttr> table = compute("at 8");
  ASSERT_TRUE(mlir::succeeded(table));
  EXPECT_FLOAT_EQ(table->getInverse()[0], 0.5f);
  EXPECT_FLOAT_EQ(table->getInverse()[1], 0.01f / 4);
  EXPECT_EQ(table->getFactor().convertToDouble(), 1.0);
}

TEST_F(RopeTable, RefusesFactorsWithoutAFiniteTable) {
  writeFile({0.0f, 1.0f, 1.0f, 1.0f});
  EXPECT_EQ(getError(), "has a frequency that is not finite");
  writeFile({1.0f, std::numeric_limits<float>::quiet_NaN(), 1.0f, 1.0f});
  EXPECT_EQ(getError(), "has a frequency that is not finite");
}

TEST_F(RopeTable, RefusesAFileThatChanged) {
  writeFile({1.0f, 1.0f, 1.0f, 1.0f});
  std::ofstream(path, std::ios::binary) << "short";
  EXPECT_EQ(getError(), path + ": changed since the model was imported");
  std::ofstream(path, std::ios::binary) << "sixteen bytes...";
  EXPECT_EQ(getError(), path + ": changed since the model was imported");
}

TEST_F(RopeTable, RefusesAFileThatIsGone) {
  writeFile({1.0f, 1.0f, 1.0f, 1.0f});
  std::remove(path.c_str());
  EXPECT_NE(getError().find(path), std::string::npos);
}

} // namespace
