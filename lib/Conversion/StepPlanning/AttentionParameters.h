//===- AttentionParameters.h - constants that attention reads -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_STEPPLANNING_ATTENTIONPARAMETERS_H
#define SLUICE_LIB_CONVERSION_STEPPLANNING_ATTENTIONPARAMETERS_H

#include "runtime/device/cpu/CpuProgramABI.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

#include <optional>
#include <vector>

namespace sluice::planning {

/// Emits the `SluiceAttention` constants of a module. Equal attentions share
/// one.
class AttentionParameters {
public:
  explicit AttentionParameters(mlir::SymbolTable &symbols) : symbols(symbols) {}

  /// Returns the constant of an attention's parameters.
  mlir::LLVM::GlobalOp get(mlir::ImplicitLocOpBuilder &b,
                           ir::TaskAttendOp task);

private:
  mlir::LLVM::GlobalOp getSlopes(mlir::ImplicitLocOpBuilder &b,
                                 ir::TaskAttendOp task);
  mlir::LLVM::GlobalOp create(mlir::ImplicitLocOpBuilder &b,
                              ir::TaskAttendOp task);

  mlir::SymbolTable &symbols;
  /// The keys contain all attributes that determine the constants.
  llvm::DenseMap<mlir::Attribute, mlir::LLVM::GlobalOp> parameters;
  llvm::DenseMap<mlir::Attribute, mlir::LLVM::GlobalOp> slopes;
};

/// The content of such a constant, for the runtime.
struct AttentionConstant {
  /// Does not refer to the slopes, because a step may only have their address.
  SluiceAttention parameters;
  std::vector<float> slopes; // alibi's, or none
};

/// Reads a constant that get() has made, or an equal one from another module.
/// Returns nullopt if the global is not a constant with `SluiceAttention`'s
/// fields.
std::optional<AttentionConstant> readAttention(const mlir::SymbolTable &symbols,
                                               mlir::LLVM::GlobalOp global);

} // namespace sluice::planning

#endif // SLUICE_LIB_CONVERSION_STEPPLANNING_ATTENTIONPARAMETERS_H
