//===- GraphValues.cpp - the memory that ops of a graph access ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphValues.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sluice::ir {

//===----------------------------------------------------------------------===//
// Values of the arena
//===----------------------------------------------------------------------===//

std::optional<GivenValue> WorkOperand::getValue() const {
  auto value = address.getDefiningOp<GraphValueOp>();
  if (!value)
    return std::nullopt;
  auto begin = static_cast<int64_t>(value.getOffset());
  return GivenValue{value.getDomain(), begin, begin + floats};
}

/// Returns the floats of a record in the value behind a kernel's parameter,
/// according to the parameter's views, or 0 if it has no view.
static int64_t getRecordFloats(Value parameter) {
  constexpr int64_t floatBits = 32;
  int64_t floats = 0;
  for (Operation *user : parameter.getUsers()) {
    auto view = dyn_cast<ViewOp>(user);
    if (!view)
      continue;
    auto type = cast<MemRefType>(view.getResult().getType());
    int64_t bits = type.getElementTypeBitWidth();
    for (int64_t size : type.getShape())
      bits *= ShapedType::isDynamic(size) ? 1 : size;
    floats = std::max<int64_t>(floats, llvm::divideCeil(bits, floatBits));
  }
  return floats;
}

WorkOperand getWorkOperand(Value word, Value parameter) {
  return {word, getRecordFloats(parameter)};
}

SmallVector<WorkOperand> getWorkOperands(GraphAllReduceOp op, int64_t members) {
  auto cols = static_cast<int64_t>(op.getCols());
  return {{op.getInput(), cols},
          {op.getOutput(), cols},
          {op.getScratch(), members * cols}};
}

SmallVector<WorkOperand> getWorkOperands(GraphAllGatherOp op, int64_t members) {
  auto cols = static_cast<int64_t>(op.getCols());
  auto part = static_cast<int64_t>(op.getPart());
  return {{op.getInput(), part},
          {op.getOutput(), cols},
          {op.getScratch(), members * part}};
}

SmallVector<WorkOperand> getWorkOperands(GraphCheckpointOp op) {
  SmallVector<WorkOperand> operands;
  for (auto [value, floats] : llvm::zip_equal(op.getValues(), op.getFloats()))
    operands.push_back({value, floats});
  return operands;
}

LogicalResult verifyApart(Operation *op, ArrayRef<WorkOperand> operands,
                          StringRef names) {
  for (size_t i = 0; i < operands.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      std::optional<GivenValue> value = operands[i].getValue();
      std::optional<GivenValue> other = operands[j].getValue();
      if (operands[i].address == operands[j].address ||
          (value && other && value->overlaps(*other)))
        return op->emitOpError("has its ") << names << " in overlapping memory";
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Memory of kernels
//===----------------------------------------------------------------------===//

/// Returns the value that a memref or pointer is a view of.
static Value getRoot(Value memory) {
  while (Operation *op = memory.getDefiningOp()) {
    if (auto view = dyn_cast<ViewOp>(op))
      memory = view.getSource();
    else if (auto viewLike = dyn_cast<ViewLikeOpInterface>(op))
      memory = viewLike.getViewSource();
    else
      break;
  }
  return memory;
}

/// Returns the kernel's parameter in whose memory a memref or pointer lies.
/// Returns nothing for shared and private memory, and if it is not known.
static std::optional<unsigned> getParameter(Value memory,
                                            gpu::GPUFuncOp kernel) {
  auto argument = dyn_cast<BlockArgument>(getRoot(memory));
  if (!argument || argument.getOwner() != &kernel.getBody().front() ||
      argument.getArgNumber() >= kernel.getNumArguments())
    return std::nullopt;
  return argument.getArgNumber();
}

/// Returns whether memory is the kernel's own shared or private memory.
static bool isOwn(Value memory, gpu::GPUFuncOp kernel) {
  Value root = getRoot(memory);
  if (Operation *op = root.getDefiningOp())
    return hasEffect<MemoryEffects::Allocate>(op);
  return root.getParentBlock() == &kernel.getBody().front() &&
         !getParameter(memory, kernel);
}

ParameterAccesses::ParameterAccesses(gpu::GPUFuncOp kernel)
    : kernel(kernel), read{llvm::SmallBitVector(kernel.getNumArguments())},
      written(read) {
  kernel.getBody().walk([&](Operation *op) { addEffects(op); });
}

void ParameterAccesses::add(Value memory, Accessed &accessed) {
  if (std::optional<unsigned> parameter = getParameter(memory, kernel))
    accessed.parameters.set(*parameter);
  else
    accessed.unknown |= !isOwn(memory, kernel);
}

void ParameterAccesses::addEffects(Operation *op) {
  // An op that takes memory but does not declare its effects on it, such as a
  // call, may read and write any memory.
  auto addOperands = [&] {
    for (Value operand : op->getOperands())
      if (isa<BaseMemRefType, LLVM::LLVMPointerType>(operand.getType())) {
        read.unknown = true;
        written.unknown = true;
      }
  };
  auto effectful = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effectful) {
    // Such an op has the effects of the ops in its regions, which are visited
    // too.
    if (!op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
      addOperands();
    return;
  }
  SmallVector<MemoryEffects::EffectInstance> effects;
  effectful.getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects) {
    if (!effect.getValue())
      addOperands();
    else
      add(effect.getValue(),
          isa<MemoryEffects::Read>(effect.getEffect()) ? read : written);
  }
}

bool ParameterAccesses::isNoAlias(unsigned parameter) const {
  gpu::GPUFuncOp function = kernel;
  return static_cast<bool>(
      function.getArgAttr(parameter, LLVM::LLVMDialect::getNoAliasAttrName()));
}

bool ParameterAccesses::isConstant(Value memory) const {
  std::optional<unsigned> parameter =
      memory ? getParameter(memory, kernel) : std::nullopt;
  return parameter && !written.unknown && !written.parameters[*parameter] &&
         isNoAlias(*parameter);
}

bool ParameterAccesses::mayBeConstant(unsigned parameter) const {
  return (read.unknown || read.parameters[parameter]) &&
         !written.parameters[parameter] && isNoAlias(parameter);
}

} // namespace sluice::ir
