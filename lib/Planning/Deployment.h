//===- Deployment.h - how a module's programs work together ---------------===//
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

/// A `sluice.worker` or `sluice.model`, with the attributes of the
/// `sluice.step` made from it. Attributes that it does not have are null.
struct ProgramSource {
  mlir::Operation *frame;
  mlir::StringAttr architecture, modelName;
  mlir::IntegerAttr vocabSize, contextLength;
  llvm::SmallVector<int64_t> eosTokens;
  mlir::IntegerAttr stepRows;
  mlir::DenseI64ArrayAttr costs;
  mlir::FlatSymbolRefAttr rank;
  int64_t members = 1; // of the group that computes the stage
};

/// Returns the workers of all pipelines in order, including those of groups, or
/// the only model of a module that was not split. Reports an error if the
/// module has neither, if stages of a pipeline were not split into ranks, and
/// if a worker belongs to no pipeline.
mlir::FailureOr<llvm::SmallVector<ProgramSource>>
findPrograms(mlir::ModuleOp module);

/// The ops that become the `sluice.deployment`; null if the module was not
/// split.
struct DeploymentSource {
  ir::GenerateOp generate;
  ir::PipelineOp target;
  /// The channels from the head through the stages and back.
  llvm::SmallVector<ir::ChannelOp> channels;
  mlir::FlatSymbolRefAttr draft; // the draft's worker, or null
  /// `stages` are the first members of the stages. `groups` are all members of
  /// each stage, or null if there are no groups.
  mlir::ArrayAttr stages, groups;
  /// Each group, with the rank of its first member.
  llvm::SmallVector<std::pair<ir::GroupOp, mlir::FlatSymbolRefAttr>> groupRanks;
};

/// Finds the deployment; called while the workers still exist. Reports an error
/// for a second head, a head without a rank, and a draft of several stages.
mlir::FailureOr<DeploymentSource> findDeployment(mlir::ModuleOp module);

/// Converts `sluice.generate`, the pipelines and the groups to
/// `sluice.deployment`, and puts its channels in order. Channels of a group
/// lead to and from its first member. Channels between head and draft do not
/// leave the rank and are erased.
void lowerDeployment(mlir::ModuleOp module, const DeploymentSource &source);

} // namespace sluice::planning

#endif // SLUICE_LIB_PLANNING_DEPLOYMENT_H
