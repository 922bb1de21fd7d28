//===- DeviceKernels.cpp - the kernels of row loops -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceKernels.h"

#include "BlockEmitter.h"
#include "lib/Conversion/SluiceToNative/TaskSignature.h"
#include "runtime/device/cuda/kernels/KernelABI.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::native;
using namespace sluice::planning;
using namespace sluice::tocuda;

using Kind = KernelParameter::Kind;

/// Returns the type of the elements of operand rows; f32 rows are used
/// directly.
static Type getElement(Builder &b, OperandAttr operand) {
  bool isHalf = operand.getFormat() == OperandFormat::F16;
  return isHalf ? Type(b.getF16Type()) : b.getBF16Type();
}

namespace {

/// Gives the memory behind the parameters of a kernel its shapes.
class ParameterBinding {
public:
  ParameterBinding(TaskRowsOp loop, ArrayRef<KernelParameter> parameters,
                   BlockOperands &operands)
      : loop(loop), parameters(parameters), operands(operands) {}

  /// Binds the vector weights, which do not depend on the rows.
  void bindVectors(ImplicitLocOpBuilder &b, ValueRange addresses) {
    for (auto [parameter, address] : llvm::zip_equal(parameters, addresses)) {
      if (parameter.kind != Kind::Operand)
        continue;
      Type type = loop->getOperand(parameter.operand).getType();
      if (isVectorWeight(type))
        operands.vectors[loop.getBody().getArgument(parameter.operand)] =
            ViewOp::create(
                b,
                MemRefType::get(cast<RankedTensorType>(type).getShape(),
                                b.getF32Type()),
                address, ValueRange());
    }
  }

  /// Binds the other parameters.
  void bindRows(ImplicitLocOpBuilder &b, const KernelModule::Frame &frame) {
    for (auto [parameter, address] :
         llvm::zip_equal(parameters, frame.parameters))
      bind(b, parameter, address, frame.rows);
  }

private:
  void bind(ImplicitLocOpBuilder &b, const KernelParameter &parameter,
            Value address, Value rows) {
    auto view = [&](ArrayRef<int64_t> shape, Type element) {
      return ViewOp::create(b, MemRefType::get(shape, element), address, rows);
    };
    constexpr int64_t any = ShapedType::kDynamic;
    Type f32 = b.getF32Type(), i32 = b.getI32Type();
    Value operand = loop->getOperand(parameter.operand);
    auto buffer = dyn_cast<BufferType>(operand.getType());
    switch (parameter.kind) {
    case Kind::Count:
      break;
    case Kind::Operand:
      if (auto table = dyn_cast<RopeTableType>(operand.getType()))
        operands.ropeTables[loop.getBody().getArgument(parameter.operand)] =
            view({any, table.getRotaryDim()}, f32);
      else if (buffer && buffer.getOperand())
        operands.operandRows[operand].rows =
            view({any, buffer.getWidth()}, getElement(b, buffer.getOperand()));
      else if (buffer)
        operands.rows[operand] =
            view(loop.getBodyType(operand).getShape(), f32);
      break;
    case Kind::OperandSums:
      operands.operandRows[operand].sums =
          view({any, buffer.getWidth() / sluice::cuda::operandBlock}, f32);
      break;
    case Kind::OperandScales:
      operands.operandRows[operand].scales = view({any}, f32);
      break;
    case Kind::Positions:
      operands.positions = view({any}, i32);
      break;
    case Kind::OutputRows:
      operands.outputRows = view({any}, i32);
      break;
    }
  }

  TaskRowsOp loop;
  ArrayRef<KernelParameter> parameters;
  BlockOperands &operands;
};

} // namespace

/// Returns whether a loop reads a buffer that it has as an operand. It may also
/// read those that it writes.
static bool reads(TaskRowsOp loop, unsigned operand) {
  unsigned arguments = loop.getBody().getNumArguments();
  if (operand < arguments)
    return true;
  Value rows = loop.getYield().getRows()[operand - arguments];
  return !llvm::hasSingleElement(rows.getUsers());
}

/// Returns how a row loop uses one of its parameters.
static ParameterUse getUse(TaskRowsOp loop, const KernelParameter &parameter) {
  switch (parameter.kind) {
  case Kind::Operand:
    if (!isa<BufferType>(loop->getOperand(parameter.operand).getType()))
      return ParameterUse::Constant;
    return reads(loop, parameter.operand) ? ParameterUse::Rows
                                          : ParameterUse::Result;
  case Kind::OperandSums:
  case Kind::OperandScales:
    return ParameterUse::Result;
  default:
    return ParameterUse::Number;
  }
}

static gpu::GPUFuncOp createKernel(KernelModule &kernels, TaskRowsOp loop,
                                   RowShape shape) {
  MLIRContext *context = loop.getContext();
  SmallVector<Location> locations;
  for (Operation &op : loop.getRowOps())
    locations.push_back(op.getLoc());
  int64_t warps = shape.threads / warpThreads;
  SmallVector<LoopItem> items = formItems(loop);
  SmallVector<KernelParameter> parameters = getKernelParameters(loop);
  auto uses =
      llvm::map_to_vector(parameters, [&](const KernelParameter &parameter) {
        return getUse(loop, parameter);
      });
  BlockOperands operands;
  ParameterBinding binding(loop, parameters, operands);
  std::optional<BlockEmitter> emitter;
  HeldRows held = findHeld(loop, shape);
  return kernels.create(
      {.loc = FusedLoc::get(context, locations),
       .name = nameRowKernel(loop),
       .parameters = uses,
       .shape = shape,
       .heads = loop.countHeads(),
       .sharedWords = warps > 1 ? warps * countReductions(items) : 0,
       .word = Float32Type::get(context)},
      [&](ImplicitLocOpBuilder &b, KernelModule::Frame &frame) {
        binding.bindVectors(b, frame.parameters);
        emitter.emplace(b, frame.code, loop, held, operands);
        emitter->emitEarly();
      },
      [&](ImplicitLocOpBuilder &b, KernelModule::Frame &frame) {
        binding.bindRows(b, frame);
        emitter->emit(frame.row);
      });
}

KernelAttr sluice::tocuda::getRowKernel(KernelModule &kernels,
                                        TaskRowsOp loop) {
  RowShape shape = getShape(loop);
  gpu::GPUFuncOp &kernel = kernels[getSignature(loop)];
  if (!kernel)
    kernel = createKernel(kernels, loop, shape);
  return kernels.getAttribute(kernel, shape, loop.countHeads());
}
