//===- StepCost.h - predicted costs of ops and stages ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts what the IR costs on a device of the module's cluster. Each op
// states its work through CostInterface; the cost model of runtime/cluster
// turns that into time.
//
// A *part* is a sluice.model, sluice.stage or sluice.worker. A part executes
// its ops and those in its layers, in order; ops without costs take no time.
// Checkpoints cut a part into *stretches*.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_ANALYSIS_STEPCOST_H
#define SLUICE_ANALYSIS_STEPCOST_H

#include "runtime/cluster/CostModel.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "llvm/ADT/SmallVector.h"

namespace sluice {

/// The default number of positions that a row attends to in predicted times.
/// Callers use less where the context of the part's model is shorter.
constexpr int64_t predictedContext = 1024;

/// Returns what one op costs. The cost of a layer includes all ops in it.
cluster::OpCost costOf(ir::CostInterface op);

/// Returns what `columns` output columns of a product cost.
cluster::OpCost costOfColumns(ir::LinearOp linear, int64_t columns);

/// Returns what it costs to join pieces of `columns` columns in all, as
/// `sluice.concat` does.
cluster::OpCost costOfJoining(int64_t columns);

/// Returns what a part costs: its layers, the ops before the first layer
/// (`embedding`) and the ops after the last (`output`). `name` and `vocab` are
/// left empty; `hidden` is the width of the layers.
cluster::ModelCost costOfPart(mlir::Operation *part);

/// Returns the cost of a part's steps on a device.
cluster::StageCost stageCostOf(mlir::Operation *part,
                               const cluster::DeviceSpec &device);

/// One executed op of a part.
struct ExecutedOp {
  mlir::Operation *op = nullptr;
  cluster::OpCost cost;
  /// The op stands behind the last layer, so it is computed only for rows whose
  /// output is wanted.
  bool ofOutput = false;

  /// Returns the seconds that the op takes in a step of `rows` rows, all of
  /// whose outputs are wanted.
  double seconds(int64_t rows, int64_t context,
                 const cluster::DeviceSpec &device) const {
    return cluster::opSeconds(cost, rows, context, device);
  }
};

/// Returns the ops of a part that have a cost, in the order of execution,
/// without checkpoints.
llvm::SmallVector<ExecutedOp> executedOps(mlir::Operation *part);

/// Returns the ops of each stretch. A part has one stretch more than
/// checkpoints.
llvm::SmallVector<llvm::SmallVector<ExecutedOp>>
stretchesOf(mlir::Operation *part);

/// Returns the seconds of each stretch in a step of `rows` rows. The first
/// stretch includes the device's overhead.
llvm::SmallVector<double> stretchSeconds(mlir::Operation *part, int64_t rows,
                                         int64_t context,
                                         const cluster::DeviceSpec &device);

/// Returns the number of rows for which checkpoints are to be placed in a part
/// that has none yet. It is the smallest number that computes a prompt at full
/// speed (StageCost::fullRows), but at most `max`, and so low that each op fits
/// into a stretch of `seconds`. A product may be cut by columns for that. An op
/// that does not fit even with one row is ignored.
int64_t rowsOfStretches(mlir::Operation *part, int64_t max, int64_t context,
                        const cluster::DeviceSpec &device, double seconds);

/// Returns the nanoseconds of a step by row count, in the form of the attribute
/// `costs` of the dialect's ops: positive and never decreasing.
llvm::SmallVector<int64_t> predictedCosts(const cluster::StageCost &cost,
                                          int64_t context);

} // namespace sluice

#endif // SLUICE_ANALYSIS_STEPCOST_H
