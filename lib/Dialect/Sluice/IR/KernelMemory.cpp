//===- KernelMemory.cpp - the memory that a kernel accesses ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelMemory.h"

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace sluice::ir {

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
