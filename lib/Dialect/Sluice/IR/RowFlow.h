//===- RowFlow.h - checks common to models and stages ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_DIALECT_SLUICE_IR_ROWFLOW_H
#define SLUICE_LIB_DIALECT_SLUICE_IR_ROWFLOW_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

namespace sluice::ir {

/// Follows the batch and the rows through a `sluice.model`, `sluice.stage` or
/// `sluice.worker`. Checks that no op combines rows that
/// `sluice.select_outputs` picked with rows of the whole batch, and that no
/// value from before a checkpoint is used behind it.
mlir::LogicalResult verifyRowFlow(mlir::Operation *frame);

/// Returns whether the rows are computed from rows that `sluice.select_outputs`
/// picked. `frame` must have passed verifyRowFlow().
bool isOfOutputs(mlir::Operation *frame, mlir::Value rows);

/// Checks that the layers in `body` are numbered `first`, `first` + 1, ... in
/// order. Without `first` they may begin with any number. Returns the number
/// after the last one.
mlir::FailureOr<int64_t> verifyLayerNumbers(mlir::Region &body,
                                            std::optional<int64_t> first);

/// Checks the attributes that hold a stage's predicted step times.
mlir::LogicalResult
verifyPrediction(mlir::Operation *op,
                 std::optional<llvm::ArrayRef<int64_t>> costs,
                 std::optional<uint64_t> stepRows);

/// Checks the limit of a stretch between checkpoints that the user asked for.
mlir::LogicalResult verifyMaxLatency(mlir::Operation *op,
                                     std::optional<uint64_t> micros);

/// Checks the number of the table's rows against a vocabulary and a context.
mlir::LogicalResult verifyTable(EmbedOp op, int64_t vocabSize,
                                int64_t contextLength);

/// Checks the range of columns of a product that an op computes: it is not
/// empty, lies inside the product, and ends where panels of the micro-kernels
/// end.
template <typename Product> mlir::LogicalResult verifyColumns(Product op) {
  int64_t first = op.getFirstColumn(), end = op.getEndColumn();
  int64_t out = op.getOutFeatures();
  if (op.getColumnsBegin().has_value() != op.getColumnsEnd().has_value())
    return op.emitOpError("has one end of its columns, not both");
  if (first < 0 || end <= first || end > out)
    return op.emitOpError() << "columns " << first << " to " << end
                            << " are empty or not inside of " << out;
  if (first % columnUnit != 0 || (end % columnUnit != 0 && end != out))
    return op.emitOpError() << "columns " << first << " to " << end
                            << " are not cut at multiples of " << columnUnit;
  return mlir::success();
}

/// Returns the `Op` called `name`. Emits an error if there is none.
template <typename Op>
mlir::FailureOr<Op> lookUp(mlir::Operation *user, mlir::FlatSymbolRefAttr name,
                           mlir::SymbolTableCollection &symbols) {
  auto found = symbols.lookupNearestSymbolFrom<Op>(user, name);
  if (!found)
    return user->emitOpError()
           << name << " is not a " << Op::getOperationName();
  return found;
}

} // namespace sluice::ir

#endif // SLUICE_LIB_DIALECT_SLUICE_IR_ROWFLOW_H
