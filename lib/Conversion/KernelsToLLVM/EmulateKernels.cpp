//===- EmulateKernels.cpp - kernels as host functions, for tests ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeFunctions.h"
#include "sluice/Conversion/Passes.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

namespace sluice {
#define GEN_PASS_DEF_EMULATEKERNELS
#include "sluice/Conversion/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

namespace {

/// Converts one kernel to a function that each emulated thread calls.
class KernelEmulation {
public:
  KernelEmulation(SymbolTable &symbols, gpu::GPUFuncOp kernel)
      : symbols(symbols), kernel(kernel),
        b(kernel.getLoc(), kernel.getContext()) {}

  void run();

private:
  void bindParameters(Value words);
  void replaceOp(Operation *op);
  void replaceShuffle(gpu::ShuffleOp op);

  func::CallOp call(StringRef name, TypeRange results, ValueRange operands) {
    return callRuntime(b, symbols, name, results, operands);
  }
  Value callForIndex(StringRef name) {
    Value number = call(name, b.getI32Type(), {}).getResult(0);
    return arith::IndexCastUIOp::create(b, b.getIndexType(), number);
  }

  SymbolTable &symbols;
  gpu::GPUFuncOp kernel;
  ImplicitLocOpBuilder b;
};

} // namespace

void KernelEmulation::run() {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  b.setInsertionPointToEnd(cast<ModuleOp>(symbols.getOp()).getBody());
  auto function = func::FuncOp::create(b, getEmulatedName(kernel.getName()),
                                       b.getFunctionType(pointer, {}));
  function.setPrivate();
  function->setAttr(
      "llvm.linkage",
      LLVM::LinkageAttr::get(b.getContext(), LLVM::Linkage::Internal));
  symbols.insert(function);

  Block &entry = kernel.getBody().front();
  Value words = entry.insertArgument(0u, pointer, kernel.getLoc());
  b.setInsertionPointToStart(&entry);
  bindParameters(words);
  entry.eraseArguments(1, entry.getNumArguments() - 1);
  kernel.getBody().walk([&](Operation *op) { replaceOp(op); });
  function.getBody().takeBody(kernel.getBody());
}

/// Loads the parameters from the words of the launch, and gets the shared
/// memory.
void KernelEmulation::bindParameters(Value words) {
  Block &entry = kernel.getBody().front();
  unsigned count = kernel.getNumArguments();
  for (unsigned i = 0; i < count; ++i) {
    BlockArgument argument = entry.getArgument(i + 1);
    Value place = LLVM::GEPOp::create(b, words.getType(), b.getI64Type(), words,
                                      LLVM::GEPArg(static_cast<int32_t>(i)));
    argument.replaceAllUsesWith(
        LLVM::LoadOp::create(b, argument.getType(), place));
  }
  // There is at most one; see KernelModule::create().
  for (BlockArgument argument : entry.getArguments().drop_front(count + 1)) {
    auto type = cast<MemRefType>(argument.getType());
    Value memory =
        call("sluice_emulated_shared", words.getType(),
             arith::ConstantIntOp::create(b, 0, /*width=*/64).getResult())
            .getResult(0);
    argument.replaceAllUsesWith(ViewOp::create(
        b, MemRefType::get(type.getShape(), type.getElementType()), memory,
        ValueRange()));
  }
}

void KernelEmulation::replaceOp(Operation *op) {
  b.setInsertionPoint(op);
  b.setLoc(op->getLoc());
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](gpu::BlockIdOp op) {
        op.replaceAllUsesWith(callForIndex("sluice_emulated_block"));
        op.erase();
      })
      .Case([&](gpu::ThreadIdOp op) {
        op.replaceAllUsesWith(callForIndex("sluice_emulated_thread"));
        op.erase();
      })
      .Case([&](gpu::BarrierOp op) {
        call("sluice_emulated_barrier", {}, {});
        op.erase();
      })
      .Case([&](gpu::ShuffleOp op) { replaceShuffle(op); })
      .Case([&](WaitForPriorOp op) {
        call("sluice_emulated_wait", {}, {});
        op.erase();
      })
      .Case([&](StartDependentsOp op) { op.erase(); })
      .Case([&](gpu::ReturnOp op) {
        func::ReturnOp::create(b);
        op.erase();
      });
}

/// The function takes floats; other 32-bit words are passed with their bits
/// unchanged.
void KernelEmulation::replaceShuffle(gpu::ShuffleOp op) {
  Type f32 = b.getF32Type(), type = op.getValue().getType();
  Value word = op.getValue();
  if (type != f32)
    word = arith::BitcastOp::create(b, f32, word);
  Value result =
      call("sluice_emulated_shuffle_xor", f32, {word, op.getOffset()})
          .getResult(0);
  if (type != f32)
    result = arith::BitcastOp::create(b, type, result);
  op.getShuffleResult().replaceAllUsesWith(result);
  op.erase();
}

namespace {

struct EmulateKernels : sluice::impl::EmulateKernelsBase<EmulateKernels> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    bool hasEmulated = false;
    for (gpu::GPUModuleOp module : llvm::make_early_inc_range(
             getOperation().getOps<gpu::GPUModuleOp>())) {
      if (module.getTargetsAttr())
        continue;
      for (auto kernel : module.getOps<gpu::GPUFuncOp>()) {
        KernelEmulation(symbols, kernel).run();
        ++emulated;
      }
      symbols.erase(module);
      hasEmulated = true;
    }
    if (!hasEmulated)
      return;
    // The host has no instructions for bf16.
    RewritePatternSet patterns(&getContext());
    arith::populateExpandBFloat16Patterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

std::string sluice::getEmulatedName(StringRef kernel) {
  return ("emulated." + kernel).str();
}
