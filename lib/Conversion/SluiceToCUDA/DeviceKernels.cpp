//===- DeviceKernels.cpp - the kernels of row loops -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceKernels.h"

#include "BlockEmitter.h"
#include "lib/Conversion/StepPlanning/Programs.h"
#include "lib/Conversion/StepPlanning/TaskSignature.h"
#include "runtime/device/cuda/kernels/KernelABI.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;
using namespace sluice::tocuda;

using Kind = KernelParameter::Kind;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

SmallVector<KernelParameter> DeviceKernels::getParameters(TaskRowsOp loop,
                                                          Operation *op) {
  SmallVector<KernelParameter> parameters;
  if (isa<SelectOutputsOp>(op))
    parameters.push_back({Kind::OutputRows});
  if (auto rotations = dyn_cast<RotationsOp>(op))
    return {
        {Kind::Positions},
        {Kind::RopeTable, getTableIndex(loop.getWeight(rotations.getTable()))}};
  for (Value weight : getVectorWeights(op))
    parameters.push_back(
        {Kind::Vector,
         weights.getIndex(loop.getWeight(weight), WeightUseKind::Vector)});
  auto addBuffer = [&](Value rows) {
    if (Value buffer = loop.getBuffer(rows))
      parameters.push_back({Kind::Buffer, 0, buffer});
  };
  llvm::for_each(getRowOperands(op), addBuffer);
  llvm::for_each(op->getResults(), addBuffer);
  if (auto operand = dyn_cast<ToOperandOp>(op);
      operand && operand.getOperand().getFormat() == OperandFormat::F16) {
    Value buffer = loop.getBuffer(operand);
    parameters.append(
        {{Kind::OperandSums, 0, buffer}, {Kind::OperandScales, 0, buffer}});
  }
  return parameters;
}

SmallVector<KernelParameter> DeviceKernels::getParameters(TaskRowsOp loop) {
  SmallVector<KernelParameter> parameters = {{Kind::Count}};
  for (Operation &op : loop.getRowOps())
    for (KernelParameter parameter : getParameters(loop, &op))
      if (!llvm::is_contained(parameters, parameter))
        parameters.push_back(parameter);
  return parameters;
}

//===----------------------------------------------------------------------===//
// Sharing
//===----------------------------------------------------------------------===//

KernelLaunch DeviceKernels::getLaunch(TaskRowsOp loop) {
  KernelLaunch launch;
  launch.parameters = getParameters(loop);
  launch.shape = getShape(loop);
  auto getPlaces = [&](Operation *op) {
    return findPlaces<KernelParameter>(getParameters(loop, op),
                                       launch.parameters);
  };
  gpu::GPUFuncOp &kernel = kernels[getSignature(loop, getPlaces)];
  if (!kernel)
    kernel = create(loop, launch);
  launch.kernel = kernel;
  return launch;
}

//===----------------------------------------------------------------------===//
// Making a kernel
//===----------------------------------------------------------------------===//

/// Binds the vector weights to their parameters.
static void bindVectors(ImplicitLocOpBuilder &b, TaskRowsOp loop,
                        ArrayRef<KernelParameter> parameters,
                        ValueRange addresses, WeightUses &weights,
                        BlockOperands &operands) {
  for (Operation &op : loop.getRowOps())
    for (Value weight : getVectorWeights(&op)) {
      if (operands.vectors.contains(weight))
        continue;
      KernelParameter parameter{
          Kind::Vector,
          weights.getIndex(loop.getWeight(weight), WeightUseKind::Vector)};
      auto place = llvm::find(parameters, parameter) - parameters.begin();
      auto shape = cast<RankedTensorType>(weight.getType()).getShape();
      operands.vectors[weight] =
          ViewOp::create(b, MemRefType::get(shape, b.getF32Type()),
                         addresses[place], ValueRange());
    }
}

/// Returns the type of the elements of operand rows; f32 rows are used
/// directly.
static Type getElement(Builder &b, OperandAttr operand) {
  bool isHalf = operand.getFormat() == OperandFormat::F16;
  return isHalf ? Type(b.getF16Type()) : b.getBF16Type();
}

/// Binds the other parameters.
static void bindRows(ImplicitLocOpBuilder &b,
                     ArrayRef<KernelParameter> parameters,
                     const KernelModule::Frame &frame, TaskRowsOp loop,
                     BlockOperands &operands) {
  auto view = [&](Value address, ArrayRef<int64_t> shape, Type element) {
    return ViewOp::create(b, MemRefType::get(shape, element), address,
                          frame.rows);
  };
  constexpr int64_t any = ShapedType::kDynamic;
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  for (auto [parameter, address] :
       llvm::zip_equal(parameters, frame.parameters)) {
    switch (parameter.kind) {
    case Kind::Count:
    case Kind::Vector:
      break;
    case Kind::Buffer: {
      auto type = cast<BufferType>(parameter.buffer.getType());
      if (OperandAttr operand = type.getOperand())
        operands.operandRows[parameter.buffer].rows =
            view(address, {any, type.getWidth()}, getElement(b, operand));
      else
        operands.rows[parameter.buffer] =
            view(address, {any, type.getWidth()}, f32);
      break;
    }
    case Kind::OperandSums:
      operands.operandRows[parameter.buffer].sums =
          view(address,
               {any, cast<BufferType>(parameter.buffer.getType()).getWidth() /
                         sluice::cuda::operandBlock},
               f32);
      break;
    case Kind::OperandScales:
      operands.operandRows[parameter.buffer].scales = view(address, {any}, f32);
      break;
    case Kind::RopeTable: {
      for (Value table : loop.getWeightArguments()) {
        auto type = dyn_cast<RopeTableType>(table.getType());
        if (type && getTableIndex(loop.getWeight(table)) == parameter.index)
          operands.ropeTables[table] =
              view(address, {any, type.getRotaryDim()}, f32);
      }
      break;
    }
    case Kind::Positions:
      operands.positions = view(address, {any}, i32);
      break;
    case Kind::OutputRows:
      operands.outputRows = view(address, {any}, i32);
      break;
    }
  }
}

/// Returns how a row loop uses each of its parameters.
static SmallVector<ParameterUse> getUses(TaskRowsOp loop,
                                         ArrayRef<KernelParameter> parameters) {
  // A loop may also read the buffers that it writes.
  auto reads = [&](Value buffer) {
    if (llvm::is_contained(loop.getReads(), buffer))
      return true;
    auto place = llvm::find(loop.getWrites(), buffer);
    Value rows = loop.getYield().getRows()[place - loop.getWrites().begin()];
    return !llvm::hasSingleElement(rows.getUsers());
  };
  return llvm::map_to_vector(parameters, [&](const KernelParameter &parameter) {
    switch (parameter.kind) {
    case Kind::Buffer:
      return reads(parameter.buffer) ? ParameterUse::Rows
                                     : ParameterUse::Result;
    case Kind::Vector:
    case Kind::RopeTable:
      return ParameterUse::Constant;
    case Kind::OperandSums:
    case Kind::OperandScales:
      return ParameterUse::Result;
    default:
      return ParameterUse::Number;
    }
  });
}

gpu::GPUFuncOp DeviceKernels::create(TaskRowsOp loop,
                                     const KernelLaunch &launch) {
  MLIRContext *context = loop.getContext();
  SmallVector<Location> locations;
  for (Operation &op : loop.getRowOps())
    locations.push_back(op.getLoc());
  int64_t warps = launch.shape.threads / warpThreads;
  SmallVector<LoopItem> items = formItems(loop);
  SmallVector<ParameterUse> uses = getUses(loop, launch.parameters);
  BlockOperands operands;
  std::optional<BlockEmitter> emitter;
  HeldRows held = findHeld(loop, launch.shape);
  return kernels.create(
      {.loc = FusedLoc::get(context, locations),
       .name = nameRowKernel(loop),
       .parameters = uses,
       .shape = launch.shape,
       .sharedWords = warps > 1 ? warps * countReductions(items) : 0,
       .word = Float32Type::get(context)},
      [&](ImplicitLocOpBuilder &b, KernelModule::Frame &frame) {
        bindVectors(b, loop, launch.parameters, frame.parameters, weights,
                    operands);
        emitter.emplace(b, frame.code, loop, held, operands);
        emitter->emitEarly();
      },
      [&](ImplicitLocOpBuilder &b, KernelModule::Frame &frame) {
        bindRows(b, launch.parameters, frame, loop, operands);
        emitter->emit(frame.row);
      });
}
