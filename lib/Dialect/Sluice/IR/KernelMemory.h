//===- KernelMemory.h - the memory that a kernel accesses -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_DIALECT_SLUICE_IR_KERNELMEMORY_H
#define SLUICE_LIB_DIALECT_SLUICE_IR_KERNELMEMORY_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/SmallBitVector.h"

namespace sluice::ir {

/// Says how a kernel accesses the memory behind its parameters.
class ParameterAccesses {
public:
  explicit ParameterAccesses(mlir::gpu::GPUFuncOp kernel);

  /// Returns whether a memref or pointer lies in the memory of a parameter that
  /// is `llvm.noalias` and that the kernel is known only to read.
  bool isConstant(mlir::Value memory) const;

  /// Returns whether LLVM may treat the memory of this parameter as constant:
  /// the parameter is `llvm.noalias`, an access through it or through unknown
  /// memory may read it, and no access is known to write it.
  bool mayBeConstant(unsigned parameter) const;

private:
  /// The parameters whose memory is accessed, and whether memory of unknown
  /// origin is accessed, too.
  struct Accessed {
    llvm::SmallBitVector parameters;
    bool unknown = false;
  };
  void add(mlir::Value memory, Accessed &accessed);
  void addEffects(mlir::Operation *op);
  bool isNoAlias(unsigned parameter) const;

  mlir::gpu::GPUFuncOp kernel;
  Accessed read, written;
};

} // namespace sluice::ir

#endif // SLUICE_LIB_DIALECT_SLUICE_IR_KERNELMEMORY_H
