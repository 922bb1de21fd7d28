//===- CudaPlanTarget.cpp - the CUDA runtime's demands on plans -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GreedyTokens.h"
#include "HeldRows.h"
#include "runtime/device/cuda/kernels/CacheABI.h"
#include "runtime/device/cuda/kernels/OperandLayout.h"
#include "runtime/device/cuda/weights/WeightLayout.h"
#include "sluice/Conversion/PlanTargets.h"

#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::tocuda;

static_assert(int(OperandFormat::F32) == int(sluice::cuda::OperandKind::F32) &&
              int(OperandFormat::BF16) ==
                  int(sluice::cuda::OperandKind::BF16) &&
              int(OperandFormat::F16) == int(sluice::cuda::OperandKind::F16));

/// Returns whether operand rows of `features` features need no padding with
/// zeros.
static bool isWholeUnits(int64_t features) {
  return features % sluice::cuda::operandUnit == 0;
}

namespace {

/// Follows runtime/device/cuda/GraphTasks.h and the kernels behind it.
struct CudaPlanTarget
    : PlanTargetInterface::ExternalModel<CudaPlanTarget, CudaTargetAttr> {
  StringRef getTitle(Attribute) const { return "CUDA"; }

  LogicalResult checkTask(Attribute, Operation *task) const {
    auto attend = dyn_cast<TaskAttendOp>(task);
    if (!attend)
      return success();
    int64_t dim = attend.getCache().getType().getHeadDim();
    if (dim <= 256 && sluice::cuda::cacheDim(static_cast<int32_t>(dim)) != 0)
      return success();
    return task->emitError("has heads of ")
           << dim << " features, for which there is no kernel on CUDA";
  }

  FailureOr<OperandAttr> getOperand(Attribute, TaskProductOp product,
                                    int64_t features) const {
    ElementFormat format = getElementFormat(product.getWeight().getType());
    std::optional<sluice::cuda::WeightKind> kind =
        sluice::cuda::weightKind(toFormat(format));
    if (!kind)
      return product.emitError("has the weight ")
             << product.getWeightParam().getWeightAttr() << " in "
             << stringifyElementFormat(format)
             << ", for which there is no kernel on CUDA";
    sluice::cuda::OperandKind operand = sluice::cuda::operandKind(*kind);
    // An operand in f32 is the rows, with zeros up to the end of the last unit.
    if (operand == sluice::cuda::OperandKind::F32 && isWholeUnits(features))
      return OperandAttr();
    return OperandAttr::get(product.getContext(),
                            static_cast<OperandFormat>(operand),
                            sluice::cuda::operandRowFloats(operand, features));
  }

  bool computesRotations(Attribute) const { return false; }
  bool attendsToStep(Attribute) const { return false; }
  bool samples(Attribute) const { return true; }
  int64_t getSampleFloats(Attribute, int64_t vocabulary) const {
    return getGreedyFloats(vocabulary);
  }
  bool isCarried(Attribute, BufferType type) const {
    return type.isFloats() && type.getDomain() == ValueDomain::Rows;
  }
  bool keepsOutputs(Attribute) const { return true; }
  bool isGenerated(Attribute, Operation *op) const {
    return !isa<EmbedOp, ReceivedRowsOp, SendRowsOp, ToOperandOp>(op);
  }
  bool writesOperands(Attribute, int64_t features) const {
    return isWholeUnits(features);
  }
  bool gatesProducts(Attribute, ActivationKind kind) const {
    return kind == ActivationKind::Silu || kind == ActivationKind::GeluTanh;
  }
  bool addsResiduals(Attribute) const { return true; }
  bool sumsOneWidth(Attribute) const { return true; }
  SmallVector<Value> getHeldValues(Attribute, TaskRowsOp loop) const {
    HeldRows held = findHeld(loop, getShape(loop));
    return SmallVector<Value>(held.rows.begin(), held.rows.end());
  }
  bool hasBarriers(Attribute) const { return false; }
};

} // namespace

void sluice::registerCudaPlanTarget(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, SluiceDialect *) {
    CudaTargetAttr::attachInterface<CudaPlanTarget>(*context);
  });
}
