//===- RuntimeFunctions.h - calls of the runtime's C functions ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_KERNELSTOLLVM_RUNTIMEFUNCTIONS_H
#define SLUICE_LIB_CONVERSION_KERNELSTOLLVM_RUNTIMEFUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

namespace sluice {

/// Emits a call of the function `name`, and declares it if necessary.
mlir::func::CallOp callRuntime(mlir::ImplicitLocOpBuilder &b,
                               mlir::SymbolTable &symbols, llvm::StringRef name,
                               mlir::TypeRange results,
                               mlir::ValueRange operands);

} // namespace sluice

#endif // SLUICE_LIB_CONVERSION_KERNELSTOLLVM_RUNTIMEFUNCTIONS_H
