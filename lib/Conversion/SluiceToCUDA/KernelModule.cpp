//===- KernelModule.cpp - the frame of a generated kernel ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockCode.h"
#include "DeviceKernels.h"

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::tocuda;

SymbolRefAttr KernelModule::getName(gpu::GPUFuncOp kernel) {
  return SymbolRefAttr::get(
      module.getNameAttr(),
      FlatSymbolRefAttr::get(SymbolTable::getSymbolName(kernel)));
}

/// An empty kernel, which may have shared memory.
static gpu::GPUFuncOp createFunction(ImplicitLocOpBuilder &b, StringRef name,
                                     unsigned parameters, int64_t threads,
                                     int64_t sharedWords, Type word) {
  SmallVector<Type> types(parameters,
                          LLVM::LLVMPointerType::get(b.getContext()));
  SmallVector<Type> attributions;
  if (sharedWords > 0)
    attributions.push_back(
        MemRefType::get({sharedWords}, word, MemRefLayoutAttrInterface(),
                        gpu::AddressSpaceAttr::get(
                            b.getContext(), gpu::AddressSpace::Workgroup)));
  auto function = gpu::GPUFuncOp::create(b, name, b.getFunctionType(types, {}),
                                         attributions);
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
  return function;
}

gpu::GPUFuncOp KernelModule::create(Location loc, StringRef name,
                                    unsigned parameters, int64_t threads,
                                    int64_t sharedWords, Type word, Body body) {
  ImplicitLocOpBuilder b(loc, module.getContext());
  b.setInsertionPointToEnd(module.getBody());
  gpu::GPUFuncOp function =
      createFunction(b, name, parameters, threads, sharedWords, word);
  symbols.insert(function);

  b.setInsertionPointToStart(&function.getBody().front());
  StartDependentsOp::create(b);
  Value row = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  WaitForPriorOp::create(b);
  Value count = ViewOp::create(b, MemRefType::get({1}, b.getI32Type()),
                               function.getArgument(0), ValueRange());
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value rows = arith::IndexCastUIOp::create(
      b, b.getIndexType(), memref::LoadOp::create(b, count, zero));
  Value lives = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, row, rows);
  auto branch = scf::IfOp::create(b, lives, /*withElseRegion=*/false);
  gpu::ReturnOp::create(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value shared = sharedWords > 0
                     ? Value(function.getWorkgroupAttributions().front())
                     : Value();
  body(b, function.getArguments(), rows, row, thread, shared);
  return function;
}
