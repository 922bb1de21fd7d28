//===- StepCost.h - what ops and stages cost ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the IR costs by the cost model of runtime/cluster: each op as its
// CostInterface says, on a device of the module's cluster.
//
// A *part* is a sluice.model, sluice.stage or sluice.worker. What is executed
// in a part is, in order, its ops and those in its layers; ops without costs
// take no time. Checkpoints cut that into *stretches*.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_ANALYSIS_STEPCOST_H
#define SLUICE_ANALYSIS_STEPCOST_H

#include "runtime/cluster/CostModel.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "llvm/ADT/SmallVector.h"

namespace sluice {

/// Positions that a row attends to in predicted times where nobody says
/// otherwise; fewer where the context of the part's model ends before.
constexpr int64_t predictedContext = 1024;

/// What one op costs. A layer: all in it.
cluster::OpCost costOf(ir::CostInterface op);

/// What `columns` columns of a product cost.
cluster::OpCost costOfColumns(ir::LinearOp linear, int64_t columns);

/// What putting so many columns together costs, as `sluice.concat`.
cluster::OpCost costOfJoining(int64_t columns);

/// What a part costs: its layers, what comes before the first, and
/// what comes after the last. `name` and `vocab` are left empty, `hidden` is
/// the width of the layers.
cluster::ModelCost costOfPart(mlir::Operation *part);

/// The steps of a part on a device.
cluster::StageCost stageCostOf(mlir::Operation *part,
                               const cluster::DeviceSpec &device);

/// One executed op of a part.
struct ExecutedOp {
  mlir::Operation *op = nullptr;
  cluster::OpCost cost;
  /// Behind the last layer: computed for rows that want an output.
  bool ofOutput = false;

  /// Seconds in a step of so many rows, all of which want an output.
  double seconds(int64_t rows, int64_t context,
                 const cluster::DeviceSpec &device) const {
    return cluster::opSeconds(cost, rows, context, device);
  }
};

/// The ops of a part that cost something, in the order of execution,
/// checkpoints left out.
llvm::SmallVector<ExecutedOp> executedOps(mlir::Operation *part);

/// The ops between checkpoints: one more than there are checkpoints.
llvm::SmallVector<llvm::SmallVector<ExecutedOp>>
stretchesOf(mlir::Operation *part);

/// How long each stretch takes in a step of `rows` rows; the device's overhead
/// is in the first.
llvm::SmallVector<double> stretchSeconds(mlir::Operation *part, int64_t rows,
                                         int64_t context,
                                         const cluster::DeviceSpec &device);

/// With how many rows the stretches of a part without checkpoints are to be
/// measured, at most `max`: as many as compute a prompt at full speed
/// (StageCost::fullRows), but no more than with which each op fits a stretch of
/// `seconds`, products in columns where they must be. What does not fit with
/// one row either is left out of that.
int64_t rowsOfStretches(mlir::Operation *part, int64_t max, int64_t context,
                        const cluster::DeviceSpec &device, double seconds);

/// Nanoseconds of a step by row count, as `costs` of the dialect's ops:
/// positive, and never falling.
llvm::SmallVector<int64_t> predictedCosts(const cluster::StageCost &cost,
                                          int64_t context);

} // namespace sluice

#endif // SLUICE_ANALYSIS_STEPCOST_H
