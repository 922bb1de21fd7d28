//===- SluiceKernelOps.cpp - ops in generated kernels of a GPU ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelMemory.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sluice::ir;

LogicalResult WaitForPriorOp::verify() {
  // wait_for_prior_c2
  auto kernel = dyn_cast<gpu::GPUFuncOp>((*this)->getParentOp());
  if (!kernel || (*this)->getBlock() != &kernel.getBody().front())
    return emitOpError("does not stand in the first block of a kernel's body, "
                       "which all threads execute");
  ParameterAccesses accesses(kernel);
  auto isConstant = [&](const MemoryEffects::EffectInstance &effect) {
    return isa<MemoryEffects::Read>(effect.getEffect()) &&
           accesses.isConstant(effect.getValue());
  };
  for (Operation &op : *(*this)->getBlock()) {
    if (&op == getOperation())
      break;
    if (isa<StartDependentsOp>(op))
      continue;
    // wait_for_prior_c1
    std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
        getEffectsRecursively(&op);
    if (!effects || !llvm::all_of(*effects, isConstant))
      return emitOpError("stands behind '")
             << op.getName()
             << "', which may touch what the kernel before has not written yet";
  }
  return success();
}
