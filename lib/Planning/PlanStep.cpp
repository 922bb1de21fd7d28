//===- PlanStep.cpp - the pass that makes steps of programs ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Deployment.h"
#include "StepBuilder.h"
#include "sluice/Planning/Passes.h"

#include "mlir/AsmParser/AsmParser.h"

namespace sluice {
#define GEN_PASS_DEF_PLANSTEP
#include "sluice/Planning/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;

namespace {

struct PlanStep : sluice::impl::PlanStepBase<PlanStep> {
  using PlanStepBase::PlanStepBase;

  void runOnOperation() override {
    if (failed(plan(getOperation())))
      signalPassFailure();
  }

private:
  FailureOr<PlanTargetInterface> parseTarget(ModuleOp module) {
    Attribute attribute = parseAttribute(target, module.getContext());
    if (auto known = dyn_cast_or_null<PlanTargetInterface>(attribute))
      return known;
    return module.emitError("'")
           << target
           << "' is no target to plan for: expected #sluice.cpu<avx2>, "
              "#sluice.cpu<avx512>, #sluice.cpu<avx512vnni> or #sluice.cuda";
  }

  LogicalResult plan(ModuleOp module) {
    FailureOr<PlanTargetInterface> planTarget = parseTarget(module);
    if (failed(planTarget))
      return failure();
    FailureOr<SmallVector<ProgramSource>> sources = findPrograms(module);
    if (failed(sources))
      return failure();
    FailureOr<DeploymentSource> deployment = findDeployment(module);
    if (failed(deployment))
      return failure();
    for (const ProgramSource &source : *sources)
      if (failed(plan(source, *planTarget)))
        return failure();
    if (besideCpu)
      return success();
    lowerDeployment(module, *deployment);
    for (const ProgramSource &source : *sources)
      source.frame->erase();
    return success();
  }

  LogicalResult plan(const ProgramSource &source,
                     PlanTargetInterface planTarget) {
    StringAttr frame = SymbolTable::getSymbolName(source.frame);
    std::string name = frame.str();
    FlatSymbolRefAttr counterpart;
    if (besideCpu) {
      name += ".cuda";
      counterpart = FlatSymbolRefAttr::get(frame);
      if (Operation *taken = SymbolTable::lookupNearestSymbolFrom(
              source.frame, StringAttr::get(frame.getContext(), name)))
        return taken->emitError("takes the name of a step");
    }
    FailureOr<StepOp> step = buildStep(source, name, counterpart, planTarget);
    if (failed(step))
      return failure();
    ++steps;
    for (TaskInterface task : step->getBody().getOps<TaskInterface>()) {
      ++tasks;
      if (failed(planTarget.checkTask(task)))
        return failure();
    }
    return success();
  }
};

} // namespace
