//===- KernelModule.cpp - the frame of a generated kernel -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockCode.h"
#include "DeviceKernels.h"

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::tocuda;

KernelAttr KernelModule::getAttribute(gpu::GPUFuncOp kernel, RowShape shape,
                                      int64_t heads) {
  auto name = SymbolRefAttr::get(
      module.getNameAttr(),
      FlatSymbolRefAttr::get(SymbolTable::getSymbolName(kernel)));
  return KernelAttr::get(module.getContext(), name, shape.threads,
                         shape.blocks * heads);
}

/// Tells ptxas and LLVM what they may assume about the memory of a parameter. A
/// result shares its memory with no other parameter, so a read need not wait
/// for stores to it. Rows that are read have no such attribute: LLVM would load
/// them as memory that does not change while the kernel runs, but the kernel
/// starts before the previous kernel has ended.
static void describe(gpu::GPUFuncOp function, unsigned number,
                     ParameterUse use) {
  Builder b(function.getContext());
  if (use == ParameterUse::Number)
    return;
  // The alignment of the arena and its buffers.
  constexpr int64_t alignment = 256;
  function.setArgAttr(number, LLVM::LLVMDialect::getAlignAttrName(),
                      b.getI64IntegerAttr(alignment));
  if (use != ParameterUse::Rows)
    function.setArgAttr(number, LLVM::LLVMDialect::getNoAliasAttrName(),
                        b.getUnitAttr());
}

/// Creates an empty kernel, with shared memory if the plan has any.
static gpu::GPUFuncOp createFunction(ImplicitLocOpBuilder &b,
                                     const KernelModule::Plan &plan) {
  SmallVector<Type> types(plan.parameters.size(),
                          LLVM::LLVMPointerType::get(b.getContext()));
  SmallVector<Type> attributions;
  if (plan.sharedWords > 0)
    attributions.push_back(MemRefType::get(
        {plan.sharedWords}, plan.word, MemRefLayoutAttrInterface(),
        gpu::AddressSpaceAttr::get(b.getContext(),
                                   gpu::AddressSpace::Workgroup)));
  auto function = gpu::GPUFuncOp::create(
      b, plan.name, b.getFunctionType(types, {}), attributions);
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({static_cast<int32_t>(plan.shape.threads), 1, 1}));
  if (int64_t blocks = plan.shape.blocks * plan.heads; blocks > 1)
    function->setAttr(rowBlocksAttrName, b.getI64IntegerAttr(blocks));
  for (auto [number, use] : llvm::enumerate(plan.parameters))
    describe(function, number, use);
  return function;
}

gpu::GPUFuncOp KernelModule::create(const Plan &plan, Body early, Body body) {
  ImplicitLocOpBuilder b(plan.loc, module.getContext());
  b.setInsertionPointToEnd(module.getBody());
  gpu::GPUFuncOp function = createFunction(b, plan);
  symbols.insert(function);

  b.setInsertionPointToStart(&function.getBody().front());
  StartDependentsOp::create(b);
  Value row = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value part = zero, worker = thread;
  if (plan.shape.blocks > 1) {
    Value blocks = arith::ConstantIndexOp::create(b, plan.shape.blocks);
    Value threads = arith::ConstantIndexOp::create(b, plan.shape.threads);
    part = arith::RemUIOp::create(b, row, blocks);
    row = arith::DivUIOp::create(b, row, blocks);
    Value before = arith::MulIOp::create(b, part, threads);
    worker = arith::AddIOp::create(b, before, thread);
  }
  Value shared = plan.sharedWords > 0
                     ? Value(function.getWorkgroupAttributions().front())
                     : Value();
  BlockCode code(b, plan.shape, thread, worker, shared);
  // The shared memory follows the parameters among the function's arguments.
  ValueRange parameters =
      function.getArguments().take_front(plan.parameters.size());
  Frame frame{parameters, /*rows=*/{}, row, part, code};
  early(b, frame);
  WaitForPriorOp::create(b);
  Value count = ViewOp::create(b, MemRefType::get({1}, b.getI32Type()),
                               function.getArgument(0), ValueRange());
  frame.rows = arith::IndexCastUIOp::create(
      b, b.getIndexType(), memref::LoadOp::create(b, count, zero));
  if (plan.heads > 1)
    // The heads of a row follow each other, as rows do.
    frame.rows = arith::MulIOp::create(
        b, frame.rows, arith::ConstantIndexOp::create(b, plan.heads));
  Value lives =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, row, frame.rows);
  auto branch = scf::IfOp::create(b, lives, /*withElseRegion=*/false);
  gpu::ReturnOp::create(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body(b, frame);
  return function;
}
