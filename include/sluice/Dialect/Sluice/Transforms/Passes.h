//===- Passes.h - passes within the dialect sluice ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_TRANSFORMS_PASSES_H
#define SLUICE_DIALECT_SLUICE_TRANSFORMS_PASSES_H

#include "sluice/Analysis/StepCost.h"
#include "sluice/Dialect/Sluice/IR/SluiceDialect.h"
#include "sluice/Dialect/Sluice/IR/SluiceTypes.h"

#include "mlir/Pass/Pass.h"

namespace sluice {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "sluice/Dialect/Sluice/Transforms/Passes.h.inc"

} // namespace sluice

#endif // SLUICE_DIALECT_SLUICE_TRANSFORMS_PASSES_H
