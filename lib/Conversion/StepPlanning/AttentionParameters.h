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

/// Emits the `SluiceAttention` constants of a module, equal ones once.
class AttentionParameters {
public:
  explicit AttentionParameters(mlir::SymbolTable &symbols) : symbols(symbols) {}

  /// An attention's parameters.
  mlir::LLVM::GlobalOp get(mlir::ImplicitLocOpBuilder &b,
                           ir::TaskAttendOp task);

private:
  mlir::LLVM::GlobalOp getSlopes(mlir::ImplicitLocOpBuilder &b,
                                 ir::TaskAttendOp task);
  mlir::LLVM::GlobalOp create(mlir::ImplicitLocOpBuilder &b,
                              ir::TaskAttendOp task);

  mlir::SymbolTable &symbols;
  /// By all attributes that decide them.
  llvm::DenseMap<mlir::Attribute, mlir::LLVM::GlobalOp> parameters;
  llvm::DenseMap<mlir::Attribute, mlir::LLVM::GlobalOp> slopes;
};

/// What the runtime reads of such a constant.
struct AttentionConstant {
  /// Without slopes, which a step may only have the address of.
  SluiceAttention parameters;
  std::vector<float> slopes; // alibi's, or none
};

/// Reads the constant that get() has made, or another such; nothing where the
/// global is no constant of a `SluiceAttention`'s fields.
std::optional<AttentionConstant> readAttention(const mlir::SymbolTable &symbols,
                                               mlir::LLVM::GlobalOp global);

} // namespace sluice::planning

#endif // SLUICE_LIB_CONVERSION_STEPPLANNING_ATTENTIONPARAMETERS_H
