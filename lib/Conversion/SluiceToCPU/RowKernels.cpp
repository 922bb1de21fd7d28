//===- RowKernels.cpp - functions for row loops ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowKernels.h"

#include "RowEmitter.h"
#include "lib/Conversion/StepPlanning/Programs.h"
#include "lib/Conversion/StepPlanning/TaskSignature.h"
#include "lib/Planning/RowLoops.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;
using namespace sluice::tocpu;

using ArgumentKind = KernelArgument::Kind;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

SmallVector<KernelArgument> RowKernels::getArguments(TaskRowsOp loop,
                                                     Operation *op) {
  SmallVector<KernelArgument> arguments;
  if (isa<ReceivedRowsOp, SendRowsOp, SelectOutputsOp, ToOperandOp, EmbedOp,
          RotationsOp>(op))
    arguments.push_back({ArgumentKind::Step});
  if (auto embed = dyn_cast<EmbedOp>(op))
    arguments.push_back({ArgumentKind::Number,
                         weights.getIndex(loop.getWeight(embed.getTable()),
                                          WeightUseKind::Rows)});
  if (auto rotations = dyn_cast<RotationsOp>(op))
    arguments.push_back({ArgumentKind::Number,
                         getTableIndex(loop.getWeight(rotations.getTable()))});
  for (Value weight : getVectorWeights(op))
    arguments.push_back(
        {ArgumentKind::Vector,
         weights.getIndex(loop.getWeight(weight), WeightUseKind::Vector)});
  auto addBuffer = [&](Value rows) {
    if (Value buffer = loop.getBuffer(rows))
      arguments.push_back({ArgumentKind::Buffer, 0, buffer});
  };
  llvm::for_each(getRowOperands(op), addBuffer);
  llvm::for_each(op->getResults(), addBuffer);
  return arguments;
}

SmallVector<KernelArgument> RowKernels::getArguments(TaskRowsOp loop) {
  SmallVector<KernelArgument> arguments;
  for (Operation &op : loop.getRowOps())
    for (KernelArgument argument : getArguments(loop, &op))
      if (!llvm::is_contained(arguments, argument))
        arguments.push_back(argument);
  return arguments;
}

KernelCall RowKernels::getCall(TaskRowsOp loop) {
  KernelCall call;
  call.arguments = getArguments(loop);
  auto getPlaces = [&](Operation *op) {
    return findPlaces<KernelArgument>(getArguments(loop, op), call.arguments);
  };
  func::FuncOp &function = kernels[getSignature(loop, getPlaces)];
  if (!function)
    function = create(loop, call.arguments);
  call.function = function;
  return call;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Fills in what the body refers to: pointers as they are passed, and views of
/// them that have rows and columns.
static RowOperands bindOperands(ImplicitLocOpBuilder &b, TaskRowsOp loop,
                                ArrayRef<KernelArgument> arguments,
                                Block &entry, WeightUses &weights) {
  RowOperands operands;
  Value end = entry.getArguments().back();
  DenseMap<int64_t, Value> numbers, vectors;
  for (auto [argument, value] : llvm::zip(arguments, entry.getArguments())) {
    switch (argument.kind) {
    case ArgumentKind::Step:
      operands.step = value;
      break;
    case ArgumentKind::Number:
      numbers[argument.index] = value;
      break;
    case ArgumentKind::Vector:
      vectors[argument.index] = value;
      break;
    case ArgumentKind::Buffer: {
      operands.pointers[argument.buffer] = value;
      auto buffer = cast<BufferType>(argument.buffer.getType());
      if (!buffer.isFloats())
        break;
      auto type = MemRefType::get({ShapedType::kDynamic, buffer.getWidth()},
                                  b.getF32Type());
      operands.rows[argument.buffer] = ViewOp::create(b, type, value, end);
      break;
    }
    }
  }

  for (Operation &op : loop.getRowOps()) {
    if (auto rotations = dyn_cast<RotationsOp>(op))
      operands.numbers[&op] =
          numbers.at(getTableIndex(loop.getWeight(rotations.getTable())));
    if (auto embed = dyn_cast<EmbedOp>(op))
      operands.numbers[&op] = numbers.at(weights.getIndex(
          loop.getWeight(embed.getTable()), WeightUseKind::Rows));
    for (Value weight : getVectorWeights(&op)) {
      if (operands.vectors.contains(weight))
        continue;
      auto shape = cast<RankedTensorType>(weight.getType()).getShape();
      auto type = MemRefType::get(shape, b.getF32Type());
      int64_t index =
          weights.getIndex(loop.getWeight(weight), WeightUseKind::Vector);
      operands.vectors[weight] =
          ViewOp::create(b, type, vectors.at(index), ValueRange());
    }
  }
  return operands;
}

func::FuncOp RowKernels::create(TaskRowsOp loop,
                                ArrayRef<KernelArgument> arguments) {
  MLIRContext *context = symbols.getOp()->getContext();
  SmallVector<Location> locations;
  for (Operation &op : loop.getRowOps())
    locations.push_back(op.getLoc());
  ImplicitLocOpBuilder b(FusedLoc::get(context, locations), context);

  SmallVector<Type> inputs;
  for (KernelArgument argument : arguments) {
    if (argument.kind == ArgumentKind::Number)
      inputs.push_back(b.getI64Type());
    else
      inputs.push_back(LLVM::LLVMPointerType::get(context));
  }
  inputs.append(2, b.getIndexType());
  b.setInsertionPointToEnd(cast<ModuleOp>(symbols.getOp()).getBody());
  auto function = func::FuncOp::create(b, nameRowKernel(loop),
                                       b.getFunctionType(inputs, {}));
  function.setPrivate();
  function->setAttr("llvm.linkage",
                    LLVM::LinkageAttr::get(context, LLVM::Linkage::Internal));
  // Called from many layers; inlined, their code would be as many copies.
  function->setAttr("passthrough", b.getStrArrayAttr({"noinline"}));
  symbols.insert(function);

  Block &entry = *function.addEntryBlock();
  b.setInsertionPointToStart(&entry);
  RowOperands operands = bindOperands(b, loop, arguments, entry, weights);
  Value begin = entry.getArgument(arguments.size());
  Value end = entry.getArgument(arguments.size() + 1);
  Value one = arith::ConstantIndexOp::create(b, 1);
  auto rows = scf::ForOp::create(b, begin, end, one);
  func::ReturnOp::create(b);
  b.setInsertionPointToStart(rows.getBody());
  RowEmitter(b, loop, runtime, operands, lanes).emit(rows.getInductionVar());
  return function;
}
