//===- Pipeline.cpp - the pipeline of all planning passes -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Planning/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace sluice {
#define GEN_PASS_REGISTRATION
#include "sluice/Planning/Passes.h.inc"
} // namespace sluice

namespace {

struct PlanPipelineOptions : PassPipelineOptions<PlanPipelineOptions> {
  Option<std::string> target{
      *this, "target", llvm::cl::init("#sluice.cpu<avx2>"),
      llvm::cl::desc("What to plan for: #sluice.cpu<LEVEL> or #sluice.cuda")};
  Option<bool> besideCpu{
      *this, "beside-cpu", llvm::cl::init(false),
      llvm::cl::desc("Leave the workers for a plan for a CPU")};
};

} // namespace

void sluice::buildPlanPipeline(OpPassManager &pm,
                               const PlanStepOptions &options) {
  pm.addPass(createPlanStep(options));
  OpPassManager &steps = pm.nest<ir::StepOp>();
  steps.addPass(createChooseOperands());
  steps.addPass(createCarryRows());
  steps.addPass(createFuseProducts());
  steps.addPass(createOrderTasks());
  steps.addPass(createFuseRowLoops());
  steps.addPass(createFormColumns());
  steps.addPass(createPlaceBarriers());
  steps.addPass(createAssignArena());
}

void sluice::registerSluicePlanningPasses() {
  registerSluicePlanPasses();
  PassPipelineRegistration<PlanPipelineOptions>(
      "sluice-plan", "Makes a planned step of each program of a module",
      [](OpPassManager &pm, const PlanPipelineOptions &options) {
        PlanStepOptions steps;
        steps.target = options.target;
        steps.besideCpu = options.besideCpu;
        buildPlanPipeline(pm, steps);
      });
}
