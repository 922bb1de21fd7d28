//===- Passes.h - passes that plan a step as tasks over buffers -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts a module from the phase `program` to the phase `plan`:
//
//   mlir::PassManager pm(context);
//   sluice::buildPlanPipeline(pm, {.target = "#sluice.cpu<avx512vnni>"});
//
// Each pass does one thing to a `sluice.step` and can be run by itself. If
// targets differ in something, a pass asks the step's target through
// PlanTargetInterface.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_PLANNING_PASSES_H
#define SLUICE_PLANNING_PASSES_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace sluice {

#define GEN_PASS_DECL
#include "sluice/Planning/Passes.h.inc"

/// Adds all passes of this folder, in the order of Passes.td. They make a
/// planned `sluice.step` of each program of a module.
void buildPlanPipeline(mlir::OpPassManager &pm, const PlanStepOptions &options);

/// Registers the passes of this folder, and the pipeline of all of them as
/// `sluice-plan`. Not thread-safe.
void registerSluicePlanningPasses();

} // namespace sluice

#endif // SLUICE_PLANNING_PASSES_H
