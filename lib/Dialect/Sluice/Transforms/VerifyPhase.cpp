//===- VerifyPhase.cpp - checks that a module is in a phase ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Dialect/Sluice/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace sluice {
#define GEN_PASS_DEF_VERIFYPHASE
#include "sluice/Dialect/Sluice/Transforms/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::ir;

/// What both phases keep: references to the model's files.
static bool isReference(Operation *op) {
  return isa<FileOp, WeightOp, TokenizerOp>(op);
}

static bool isLegalInModel(Operation *op) {
  return isa_and_nonnull<SluiceDialect>(op->getDialect()) &&
         !isa<ProgramOp, ViewOp>(op);
}

static bool isLegalInKernels(Operation *op) {
  return isReference(op) || isa<ProgramOp, ViewOp>(op) ||
         isa_and_nonnull<arith::ArithDialect, func::FuncDialect,
                         LLVM::LLVMDialect, math::MathDialect,
                         memref::MemRefDialect, scf::SCFDialect,
                         vector::VectorDialect>(op->getDialect());
}

namespace {

class VerifyPhasePass : public sluice::impl::VerifyPhaseBase<VerifyPhasePass> {
public:
  using VerifyPhaseBase::VerifyPhaseBase;

  void runOnOperation() override {
    if (phase == "model")
      return verify<ModelOp>(isLegalInModel);
    if (phase == "kernels")
      return verify<ProgramOp>(isLegalInKernels);
    getOperation().emitError()
        << "no phase is named '" << phase << "': expected model or kernels";
    signalPassFailure();
  }

private:
  /// Checks that there is one `Root` and that every op is legal.
  template <typename Root> void verify(bool (*isLegal)(Operation *)) {
    ModuleOp module = getOperation();
    auto roots = module.getOps<Root>();
    if (!llvm::hasSingleElement(roots)) {
      module.emitError() << "phase " << phase << " has one '"
                         << Root::getOperationName() << "', found "
                         << std::distance(roots.begin(), roots.end());
      return signalPassFailure();
    }
    auto tokenizers = module.getOps<TokenizerOp>();
    if (std::distance(tokenizers.begin(), tokenizers.end()) > 1) {
      (*std::next(tokenizers.begin()))
          .emitOpError("is the second: a model has at most one");
      return signalPassFailure();
    }
    WalkResult result = module.walk([&](Operation *op) {
      if (op == module)
        return WalkResult::advance();
      ++opsChecked;
      if (isLegal(op))
        return WalkResult::advance();
      op->emitOpError() << "is not legal in phase " << phase;
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
