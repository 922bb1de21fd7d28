//===- InitAll.cpp - registers what every tool knows ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/InitAll.h"
#include "sluice/Conversion/Passes.h"
#include "sluice/Conversion/PlanTargets.h"
#include "sluice/Dialect/Sluice/IR/SluiceDialect.h"
#include "sluice/Dialect/Sluice/Transforms/Passes.h"
#include "sluice/Planning/Passes.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

void sluice::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<ir::SluiceDialect>();
  registerCpuPlanTarget(registry);
  registerCudaPlanTarget(registry);
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
}

void sluice::registerAllPasses() {
  registerSluiceTransformsPasses();
  registerSluicePlanningPasses();
  registerSluiceConversionPasses();
  mlir::registerAllPasses();
}
