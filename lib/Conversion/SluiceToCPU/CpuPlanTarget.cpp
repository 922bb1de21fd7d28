//===- CpuPlanTarget.cpp - the CPU runtime's demands on plans -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/CpuProgramABI.h"
#include "runtime/device/cpu/linear/PackedWeight.h"
#include "sluice/Conversion/PlanTargets.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace sluice::ir;

namespace {

/// Follows runtime/device/cpu/CpuProgramABI.h.
struct CpuPlanTarget
    : PlanTargetInterface::ExternalModel<CpuPlanTarget, CpuTargetAttr> {
  StringRef getTitle(Attribute) const { return "a CPU"; }

  LogicalResult checkTask(Attribute, Operation *) const { return success(); }

  FailureOr<OperandAttr> getOperand(Attribute, TaskProductOp product,
                                    int64_t features) const {
    RankedTensorType weight = product.getWeight().getType();
    if (!sluice::cpu::takesQuantizedRows(
            sluice::cpu::packedKind(toFormat(getElementFormat(weight)))))
      return OperandAttr();
    return OperandAttr::get(product.getContext(), OperandFormat::Q8,
                            SLUICE_QUANTIZED_ROW_FLOATS(features));
  }

  bool computesRotations(Attribute) const { return true; }
  bool attendsToStep(Attribute) const { return true; }
  bool samples(Attribute) const { return false; }
  int64_t getSampleFloats(Attribute, int64_t) const { return 0; }
  bool isCarried(Attribute, BufferType) const { return true; }
  bool keepsOutputs(Attribute) const { return false; }
  bool isGenerated(Attribute, Operation *) const { return true; }
  bool writesOperands(Attribute, int64_t) const { return true; }
  bool gatesProducts(Attribute, ActivationKind) const { return false; }
  bool addsResiduals(Attribute) const { return false; }
  bool sumsOneWidth(Attribute) const { return false; }
  SmallVector<Value> getHeldValues(Attribute, TaskRowsOp) const { return {}; }
  bool hasBarriers(Attribute) const { return true; }
};

} // namespace

void sluice::registerCpuPlanTarget(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, SluiceDialect *) {
    CpuTargetAttr::attachInterface<CpuPlanTarget>(*context);
  });
}
