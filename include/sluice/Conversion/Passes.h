//===- Passes.h - conversions out of the dialect sluice -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the phase `program` to LLVM:
//
//   mlir::PassManager pm(context);
//   pm.addPass(sluice::createConvertSluiceToCPU({.cpu = level}));
//   sluice::buildKernelsToLLVMPipeline(pm);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_CONVERSION_PASSES_H
#define SLUICE_CONVERSION_PASSES_H

#include "sluice/Dialect/Sluice/IR/SluiceTypes.h"

#include "mlir/Pass/Pass.h"

namespace sluice {

#define GEN_PASS_DECL
#include "sluice/Conversion/Passes.h.inc"

/// Lowers a module of the phase `kernels` to the LLVM dialect. The module-level
/// ops of the dialect sluice stay; what translates to LLVM IR must drop them.
void buildKernelsToLLVMPipeline(mlir::OpPassManager &pm);

/// Registers the passes of this folder, and the pipeline above as
/// `sluice-kernels-to-llvm`. Not thread-safe.
void registerSluiceConversionPasses();

} // namespace sluice

#endif // SLUICE_CONVERSION_PASSES_H
