//===- LowerDeviceOps.cpp - the lowering of ops for a GPU -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Conversion/CudaChips.h"
#include "sluice/Conversion/Passes.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"

namespace sluice {
#define GEN_PASS_DEF_LOWERDEVICEOPS
#include "sluice/Conversion/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::ir;

/// Returns the instruction of a mathematical function, or an empty name. The
/// conversion to NVVM would call CUDA's library instead.
static StringRef getIntrinsic(Operation *op) {
  if (isa<math::SqrtOp>(op))
    return "llvm.nvvm.sqrt.rn.f";
  if (isa<math::FloorOp>(op))
    return "llvm.floor.f32";
  if (isa<math::AbsFOp>(op))
    return "llvm.fabs.f32";
  return "";
}

namespace {

struct LowerDeviceOps : sluice::impl::LowerDeviceOpsBase<LowerDeviceOps> {
  void runOnOperation() override {
    auto module = cast<gpu::GPUModuleOp>(getOperation());
    bool isDependent =
        module.getTargetsAttr() &&
        llvm::all_of(module.getTargetsAttr(), sluice::hasDependentLaunch);
    IRRewriter rewriter(&getContext());
    module.walk([&](Operation *op) {
      if (StringRef intrinsic = getIntrinsic(op); !intrinsic.empty()) {
        rewriter.setInsertionPoint(op);
        rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
            op, op->getResult(0).getType(), rewriter.getStringAttr(intrinsic),
            op->getOperands());
        ++lowered;
        return;
      }
      if (!isa<WaitForPriorOp, StartDependentsOp>(op))
        return;
      rewriter.setInsertionPoint(op);
      if (isDependent)
        NVVM::GriddepcontrolOp::create(
            rewriter, op->getLoc(),
            isa<WaitForPriorOp>(op)
                ? NVVM::GridDepActionKind::wait
                : NVVM::GridDepActionKind::launch_dependents);
      rewriter.eraseOp(op);
      ++lowered;
    });
  }
};

} // namespace
