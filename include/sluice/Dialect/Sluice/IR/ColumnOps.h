//===- ColumnOps.h - what ops compute of each feature of a row ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_COLUMNOPS_H
#define SLUICE_DIALECT_SLUICE_IR_COLUMNOPS_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sluice::ir {

/// Builds a constant of type f32 or a vector of f32.
mlir::Value buildConstant(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                          double value);

/// Builds an activation function of an f32, or of each lane of a vector of f32.
/// The operations and their order are the same for both, so all devices compute
/// the same bits.
mlir::Value buildActivation(mlir::ImplicitLocOpBuilder &b, ActivationKind kind,
                            mlir::Value x);

} // namespace sluice::ir

#endif // SLUICE_DIALECT_SLUICE_IR_COLUMNOPS_H
