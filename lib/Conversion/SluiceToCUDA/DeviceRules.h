//===- DeviceRules.h - what the CUDA runtime asks of a step ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCUDA_DEVICERULES_H
#define SLUICE_LIB_CONVERSION_SLUICETOCUDA_DEVICERULES_H

#include "lib/Conversion/StepPlanning/StepGraph.h"

namespace sluice::tocuda {

/// The rules of runtime/device/cuda/CudaProgramABI.h. Operands' formats are its
/// SLUICE_OPERAND numbers, which are those of `ir::OperandKind`.
struct DeviceRules : planning::StepTarget {
  llvm::StringRef getName() const override { return "CUDA"; }
  mlir::FailureOr<std::optional<planning::OperandRecord>>
  getOperand(ir::LinearOp op, int64_t features) const override;
  bool computesRopeTables() const override { return false; }
  bool attendsToStep() const override { return false; }
  bool isCarried(const planning::Buffer &buffer) const override;
  bool isInRowLoops(planning::Node::Kind kind) const override;
  bool sumsOneWidth() const override { return true; }
};

/// How many nodes read each buffer; the logits are read once more.
llvm::SmallVector<unsigned> countReaders(const planning::StepGraph &graph);

/// Has operand rows made by the row loops that make the rows, where these are
/// generated code and have whole units of features; else a call makes them.
/// Returns how many.
unsigned joinOperands(planning::StepGraph &graph);

/// Makes one of two products of the same rows and a gate that alone reads them,
/// where the runtime's kernels have its function. The products and the gate
/// give the same bits by themselves, as they do where a checkpoint parts them.
/// Returns how many.
unsigned fuseGates(planning::StepGraph &graph);

/// Takes sums out of the graph that a product can add to its own: one of a
/// product's result, which nothing else reads, and of rows that are there by
/// then. The product's node then stands where the sum stood and has two inputs.
/// Returns how many.
unsigned fuseResiduals(planning::StepGraph &graph);

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_DEVICERULES_H
