//===- Deployment.h - what of a module becomes steps ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_PLANNING_DEPLOYMENT_H
#define SLUICE_LIB_PLANNING_DEPLOYMENT_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice::planning {

/// A `sluice.worker` or `sluice.model` and what its `sluice.step` says of it.
/// Attributes that it has none of are null.
struct ProgramSource {
  mlir::Operation *frame;
  mlir::StringAttr architecture, modelName;
  mlir::IntegerAttr vocabSize, contextLength;
  llvm::SmallVector<int64_t> eosTokens;
  mlir::IntegerAttr stepRows;
  mlir::DenseI64ArrayAttr costs;
  mlir::FlatSymbolRefAttr rank;
  int64_t members = 1; // of the group that it computes the stage with
};

/// The workers of all pipelines in order, those of groups too; or the one model
/// of a module that was not split. Reports a module that has neither, pipelines
/// of stages that were not split into ranks, and workers of no pipeline.
mlir::FailureOr<llvm::SmallVector<ProgramSource>>
findPrograms(mlir::ModuleOp module);

/// What becomes the `sluice.deployment`; null where the module was not split.
struct DeploymentSource {
  ir::GenerateOp generate;
  ir::PipelineOp target;
  /// From the head through the stages and back.
  llvm::SmallVector<ir::ChannelOp> channels;
  mlir::FlatSymbolRefAttr draft; // the draft's worker, or null
  /// The first members of the stages; and where there are groups all members of
  /// each stage, else null.
  mlir::ArrayAttr stages, groups;
  /// Each group with its first member's rank.
  llvm::SmallVector<std::pair<ir::GroupOp, mlir::FlatSymbolRefAttr>> groupRanks;
};

/// Finds it while the workers are there. Reports a second head, one that is at
/// no rank, and a draft of several stages.
mlir::FailureOr<DeploymentSource> findDeployment(mlir::ModuleOp module);

/// Turns `sluice.generate`, the pipelines and groups into `sluice.deployment`,
/// and puts its channels in order: those of a group lead to and from its first
/// member. Those between head and draft, which do not leave the rank, go.
void lowerDeployment(mlir::ModuleOp module, const DeploymentSource &source);

} // namespace sluice::planning

#endif // SLUICE_LIB_PLANNING_DEPLOYMENT_H
