//===- GateMathTest.cpp - gates of products and of row loops --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime's kernels compute some gates themselves. Their results must have
// the same bits as those of the code that is generated for gates elsewhere.
//
//===----------------------------------------------------------------------===//

#include "StepRunner.h"

#include "runtime/device/cuda/kernels/GateMath.cuh"
#include "sluice/Dialect/Sluice/IR/ColumnOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>

using namespace mlir;
using namespace sluice;
using namespace sluice::test;

namespace {

constexpr int64_t lanes = 8;

/// An activation of `lanes` numbers, lowered like row kernels.
class GeneratedActivation {
public:
  explicit GeneratedActivation(ir::ActivationKind kind) {
    MLIRContext &context = getContext();
    context.loadDialect<func::FuncDialect, LLVM::LLVMDialect>();
    Location loc = UnknownLoc::get(&context);
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    ImplicitLocOpBuilder b(loc, &context);
    b.setInsertionPointToEnd(module->getBody());
    Type pointer = LLVM::LLVMPointerType::get(&context);
    auto function = func::FuncOp::create(
        b, "apply", b.getFunctionType({pointer, pointer}, {}));
    Block *entry = function.addEntryBlock();
    b.setInsertionPointToStart(entry);
    auto vector = VectorType::get({lanes}, b.getF32Type());
    Value x = LLVM::LoadOp::create(b, vector, entry->getArgument(0), 4);
    Value y = ir::buildActivation(b, kind, x);
    LLVM::StoreOp::create(b, y, entry->getArgument(1), 4);
    func::ReturnOp::create(b);
    jit = std::make_unique<Jit>(*module);
    compiled = jit->lookup<void(const float *, float *)>("apply");
  }

  void operator()(const float *x, float *y) const { compiled(x, y); }

private:
  std::unique_ptr<Jit> jit;
  void (*compiled)(const float *, float *);
};

void expectSameBits(ir::ActivationKind kind, cuda::Gate gate) {
  GeneratedActivation generated(kind);
  // A prime step reaches all exponents with varying mantissas.
  constexpr uint64_t step = 499;
  for (uint64_t first = 0; first < uint64_t{1} << 32; first += lanes * step) {
    float x[lanes], wanted[lanes];
    for (int64_t i = 0; i < lanes; ++i)
      x[i] = std::bit_cast<float>(uint32_t(first + uint64_t(i) * step));
    generated(x, wanted);
    for (int64_t i = 0; i < lanes; ++i) {
      float found = cuda::gated(gate, x[i]);
      if (std::isnan(wanted[i]))
        ASSERT_TRUE(std::isnan(found)) << x[i];
      else
        ASSERT_EQ(std::bit_cast<uint32_t>(found),
                  std::bit_cast<uint32_t>(wanted[i]))
            << x[i];
    }
  }
}

TEST(GateMath, HasTheBitsOfGeneratedCode) {
  expectSameBits(ir::ActivationKind::Silu, cuda::Gate::Silu);
  expectSameBits(ir::ActivationKind::GeluTanh, cuda::Gate::GeluTanh);
}

} // namespace
