//===- ActivationCode.h - activation functions as ops ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETONATIVE_ACTIVATIONCODE_H
#define SLUICE_LIB_CONVERSION_SLUICETONATIVE_ACTIVATIONCODE_H

#include "sluice/Dialect/Sluice/IR/SluiceTypes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sluice::planning {

/// Emits an activation function of an f32, or of each lane of a vector of f32.
/// The operations and their order are the same for both, so all targets compute
/// the same bits.
mlir::Value emitActivation(mlir::ImplicitLocOpBuilder &b,
                           ir::ActivationKind kind, mlir::Value x);

/// Emits a constant of type f32 or a vector of f32.
mlir::Value emitConstant(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                         double value);

} // namespace sluice::planning

#endif // SLUICE_LIB_CONVERSION_SLUICETONATIVE_ACTIVATIONCODE_H
