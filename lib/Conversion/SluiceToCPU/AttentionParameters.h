//===- AttentionParameters.h - constants that attention reads -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCPU_ATTENTIONPARAMETERS_H
#define SLUICE_LIB_CONVERSION_SLUICETOCPU_ATTENTIONPARAMETERS_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

namespace sluice::tocpu {

/// Emits the `SluiceAttention` constants of a module, equal ones once.
class AttentionParameters {
public:
  explicit AttentionParameters(mlir::SymbolTable &symbols) : symbols(symbols) {}

  /// The address of an attention's parameters.
  mlir::Value getAddress(mlir::ImplicitLocOpBuilder &b, ir::AttendOp op);

private:
  mlir::LLVM::GlobalOp getSlopes(mlir::ImplicitLocOpBuilder &b,
                                 ir::AttendOp op);
  mlir::LLVM::GlobalOp create(mlir::ImplicitLocOpBuilder &b, ir::AttendOp op);

  mlir::SymbolTable &symbols;
  /// By all attributes that decide them.
  llvm::DenseMap<mlir::Attribute, mlir::LLVM::GlobalOp> parameters;
  llvm::DenseMap<mlir::Attribute, mlir::LLVM::GlobalOp> slopes;
};

} // namespace sluice::tocpu

#endif // SLUICE_LIB_CONVERSION_SLUICETOCPU_ATTENTIONPARAMETERS_H
