//===- SluiceOps.td - all ops of the dialect sluice -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICEOPS_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICEOPS_TD

include "sluice/Dialect/Sluice/IR/SluiceAttendOp.td"
include "sluice/Dialect/Sluice/IR/SluiceCollectiveOps.td"
include "sluice/Dialect/Sluice/IR/SluiceKernelOps.td"
include "sluice/Dialect/Sluice/IR/SluiceLayerOps.td"
include "sluice/Dialect/Sluice/IR/SluiceModelOps.td"
include "sluice/Dialect/Sluice/IR/SluiceModuleOps.td"
include "sluice/Dialect/Sluice/IR/SluicePipelineOps.td"
include "sluice/Dialect/Sluice/IR/SluicePlanOps.td"
include "sluice/Dialect/Sluice/IR/SluiceProgramOps.td"
include "sluice/Dialect/Sluice/IR/SluiceRankOps.td"
include "sluice/Dialect/Sluice/IR/SluiceTaskOps.td"

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEOPS_TD
