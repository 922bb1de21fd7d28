//===- LowerViews.cpp - the lowering of sluice.view -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Conversion/Passes.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace sluice {
#define GEN_PASS_DEF_LOWERVIEWS
#include "sluice/Conversion/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::ir;

/// Builds the descriptor of a dense memref of the view's type at its pointer.
static Value buildDescriptor(IRRewriter &rewriter, ViewOp view,
                             const LLVMTypeConverter &converter) {
  Location loc = view.getLoc();
  auto type = cast<MemRefType>(view.getResult().getType());
  Type indexType = converter.getIndexType();
  auto constant = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(rewriter, loc, indexType,
                                    rewriter.getIndexAttr(value));
  };

  auto descriptor =
      MemRefDescriptor::poison(rewriter, loc, converter.convertType(type));
  descriptor.setAllocatedPtr(rewriter, loc, view.getSource());
  descriptor.setAlignedPtr(rewriter, loc, view.getSource());
  descriptor.setOffset(rewriter, loc, constant(0));

  auto sizes = view.getSizes().begin();
  SmallVector<Value> extents;
  for (int64_t size : type.getShape())
    extents.push_back(ShapedType::isDynamic(size)
                          ? UnrealizedConversionCastOp::create(
                                rewriter, loc, indexType, *sizes++)
                                .getResult(0)
                          : constant(size));
  Value stride = constant(1);
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    descriptor.setSize(rewriter, loc, dim, extents[dim]);
    descriptor.setStride(rewriter, loc, dim, stride);
    if (dim > 0)
      stride = LLVM::MulOp::create(rewriter, loc, stride, extents[dim]);
  }
  return descriptor;
}

namespace {

struct LowerViews : sluice::impl::LowerViewsBase<LowerViews> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](ViewOp view) {
      rewriter.setInsertionPoint(view);
      Value descriptor = buildDescriptor(rewriter, view, converter);
      rewriter.replaceOpWithNewOp<UnrealizedConversionCastOp>(
          view, view.getResult().getType(), descriptor);
      ++lowered;
    });
  }
};

} // namespace
