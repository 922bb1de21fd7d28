//===- SluicePlanTarget.td - what plans ask of targets -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICEPLANTARGET_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICEPLANTARGET_TD

include "mlir/IR/Interfaces.td"
include "mlir/IR/OpBase.td"

def Sluice_PlanTargetInterface : AttrInterface<"PlanTargetInterface"> {
  let cppNamespace = "::sluice::ir";
  let description = [{
    What those who execute steps ask of them. A pass that plans a step asks the
    target of the step, and never which target it is. Stateless.
  }];
  let methods = [
    InterfaceMethod<"Returns how errors name the target, as in 'has no lowering "
                    "to a CPU'.",
                    "::llvm::StringRef", "getTitle", (ins)>,
    InterfaceMethod<"Checks whether the target can do a task. The error is "
                    "reported on the task.",
                    "::mlir::LogicalResult", "checkTask",
                    (ins "::mlir::Operation *":$task)>,
    InterfaceMethod<"Returns the records that a product takes instead of rows of "
                    "floats; null where it takes these. `features` is how wide "
                    "the rows are. Fails where the product's weight has a format "
                    "without a kernel, and reports it on the product.",
                    "::mlir::FailureOr<::sluice::ir::OperandAttr>", "getOperand",
                    (ins "::sluice::ir::TaskProductOp":$product,
                         "int64_t":$features)>,
    InterfaceMethod<"Returns whether a step computes the cosines and sines of its "
                    "rows once, as a buffer. If not, rotations read a table of "
                    "all positions.",
                    "bool", "computesRotations", (ins)>,
    InterfaceMethod<"Returns whether attention reads the step's own keys and "
                    "values beside the cache.",
                    "bool", "attendsToStep", (ins)>,
    InterfaceMethod<"Returns whether a task finds the likeliest token of each "
                    "output. If not, the host reads the logits.",
                    "bool", "samples", (ins)>,
    InterfaceMethod<"Returns the floats for each output that finding the "
                    "likeliest of `vocabulary` tokens takes beside the logits; 0 "
                    "for none.",
                    "int64_t", "getSampleFloats", (ins "int64_t":$vocabulary)>,
    InterfaceMethod<"Returns whether checkpoints move the records of such a "
                    "buffer. What they do not move is made anew behind them.",
                    "bool", "isCarried", (ins "::sluice::ir::BufferType":$type)>,
    InterfaceMethod<"Returns whether checkpoints leave outputs where they are. If "
                    "not, the outputs of rows that leave do so, too.",
                    "bool", "keepsOutputs", (ins)>,
    InterfaceMethod<"Returns whether a row-wise op is generated code, which row "
                    "loops are made of. If not, the runtime does it by itself.",
                    "bool", "isGenerated", (ins "::mlir::Operation *":$op)>,
    InterfaceMethod<"Returns whether a row loop that makes rows `features` wide "
                    "can write the operands that products take of them.",
                    "bool", "writesOperands", (ins "int64_t":$features)>,
    InterfaceMethod<"Returns whether a product can compute the gate of itself and "
                    "a partner.",
                    "bool", "gatesProducts",
                    (ins "::sluice::ir::ActivationKind":$kind)>,
    InterfaceMethod<"Returns whether a product can add rows to its result.",
                    "bool", "addsResiduals", (ins)>,
    InterfaceMethod<"Returns whether all sums over rows in a row loop must be of "
                    "rows of one width, since the order of a sum follows from "
                    "which ops share the loop.",
                    "bool", "sumsOneWidth", (ins)>,
    InterfaceMethod<"Returns the values of a row loop that its code keeps in "
                    "registers from one loop over columns to the next.",
                    "::llvm::SmallVector<::mlir::Value>", "getHeldValues",
                    (ins "::sluice::ir::TaskRowsOp":$loop)>,
    InterfaceMethod<"Returns whether threads run all tasks side by side, and meet "
                    "at barriers only. If not, each task waits for the one "
                    "before.",
                    "bool", "hasBarriers", (ins)>
  ];
}

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEPLANTARGET_TD
