//===- FuseDecodeTest.cpp - row fusion of another dialect's ops -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests with ops of another dialect that implement RowSemanticsInterface. They
// are fused like the dialect's own, and refused if their semantics do not fit
// their operands. Ops of the dialect `sluice` cannot test that, since their
// verifiers refuse such operands before.
//
//===----------------------------------------------------------------------===//

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Dialect/Sluice/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace sluice::ir;
using testing::HasSubstr;

namespace {

/// An op with any operands and results. Only its row semantics differ.
template <typename Concrete, RowSemantics semantics>
class RowsOp
    : public Op<Concrete, OpTrait::VariadicOperands, OpTrait::VariadicResults,
                RowSemanticsInterface::Trait> {
public:
  using Op<Concrete, OpTrait::VariadicOperands, OpTrait::VariadicResults,
           RowSemanticsInterface::Trait>::Op;
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  RowSemantics getRowSemantics() { return semantics; }
};

class RowWiseOp : public RowsOp<RowWiseOp, RowSemantics::RowWise> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RowWiseOp)
  using RowsOp::RowsOp;
  static StringRef getOperationName() { return "rows.row_wise"; }
};

class PerSequenceOp : public RowsOp<PerSequenceOp, RowSemantics::PerSequence> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PerSequenceOp)
  using RowsOp::RowsOp;
  static StringRef getOperationName() { return "rows.per_sequence"; }
};

class RowsDialect : public Dialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RowsDialect)
  explicit RowsDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context, TypeID::get<RowsDialect>()) {
    addOperations<RowWiseOp, PerSequenceOp>();
  }
  static StringRef getDialectNamespace() { return "rows"; }
};

class FuseDecodeTest : public testing::Test {
protected:
  FuseDecodeTest() {
    context.loadDialect<SluiceDialect, RowsDialect>();
    // Otherwise the pass manager's threads print the errors.
    context.disableMultithreading();
  }

  /// Fuses a model with the op in a layer. Returns the first error, or an empty
  /// string.
  std::string fuse(std::string_view op) {
    std::string error;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (error.empty())
        error = diagnostic.str();
      return success();
    });
    std::string text = R"mlir(
      sluice.file @f path "m" size 4096 identity "0123456789abcdef"
      sluice.weight @t in @f at 0 stored f32 : tensor<8x8xf32>
      sluice.model @main(%chunk: !sluice.chunk) attributes {architecture = "a",
          model_name = "m", vocab_size = 8, context_length = 8} {
        %t = sluice.param @t : tensor<8x8xf32>
        %h = sluice.embed chunk %chunk, %t by token
          : tensor<8x8xf32> -> tensor<?x8xf32>
        %y = sluice.layer 0 (%x = %h) : tensor<?x8xf32> {
          %cache = sluice.layer_cache
            : !sluice.cache<kv_heads = 1, head_dim = 8>
          %w = sluice.param @t : tensor<8x8xf32>
          )mlir" + std::string(op) +
                       R"mlir(
          sluice.yield %x : tensor<?x8xf32>
        }
        sluice.return %y : tensor<?x8xf32>
      })mlir";
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return "not parsed: " + error;
    PassManager passes(&context);
    passes.addPass(sluice::createFuseDecode());
    return succeeded(passes.run(*module)) ? "" : error;
  }

  bool isModelFused() { return isFused(*module->getOps<ModelOp>().begin()); }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

} // namespace

TEST_F(FuseDecodeTest, opsOfOtherDialectsThatAnswerAreFused) {
  EXPECT_EQ(fuse(R"(%a = "rows.row_wise"(%x, %w)
    : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x16xf32>)"),
            "");
  EXPECT_TRUE(isModelFused());
  EXPECT_EQ(fuse(R"(%a = "rows.per_sequence"(%x, %cache, %chunk)
    : (tensor<?x8xf32>, !sluice.cache<kv_heads = 1, head_dim = 8>,
       !sluice.chunk) -> tensor<?x8xf32>)"),
            "");
  EXPECT_TRUE(isModelFused());
}

TEST_F(FuseDecodeTest, aPerSequenceOpNeedsTheRowsSequences) {
  EXPECT_THAT(fuse(R"(%a = "rows.per_sequence"(%x, %cache)
    : (tensor<?x8xf32>, !sluice.cache<kv_heads = 1, head_dim = 8>)
      -> tensor<?x8xf32>)"),
              HasSubstr("'rows.per_sequence' op cannot be fused: it is "
                        "per-sequence, but is not given the rows' sequences"));
  EXPECT_FALSE(isModelFused());
}

TEST_F(FuseDecodeTest, aRowWiseOpTakesNoCache) {
  EXPECT_THAT(fuse(R"(%a = "rows.row_wise"(%x, %cache)
    : (tensor<?x8xf32>, !sluice.cache<kv_heads = 1, head_dim = 8>)
      -> tensor<?x8xf32>)"),
              HasSubstr("row-wise by its own account, but takes a sequence's "
                        "cache"));
  EXPECT_FALSE(isModelFused());
}

TEST_F(FuseDecodeTest, rowsThatAreMadeAreTheFirstDynamicDimension) {
  for (std::string type :
       {"tensor<4x8xf32>", "tensor<8x?xf32>", "tensor<?x?xf32>",
        "tensor<?xf32>", "tensor<?x8x8xf32>", "tensor<*xf32>"}) {
    EXPECT_THAT(
        fuse(R"(%a = "rows.row_wise"(%x) : (tensor<?x8xf32>) -> )" + type),
        HasSubstr("'" + type + "' has no rows to concatenate"));
    EXPECT_FALSE(isModelFused());
  }
}
