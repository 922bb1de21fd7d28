//===- ShardPlan.h - the plan of rows split over a group ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_DIALECT_SLUICE_TRANSFORMS_SHARDPLAN_H
#define SLUICE_LIB_DIALECT_SLUICE_TRANSFORMS_SHARDPLAN_H

#include "HeadSplit.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "llvm/ADT/MapVector.h"

#include <string>

namespace sluice {

/// The dimension along which a weight is cut. A vector has only columns.
enum class WeightDim { Rows, Columns };

/// Says for each value of a model whether and how its rows are split over the
/// members of a group. Rows that are not split are the same at all members.
///
/// Attention is split by heads, ops between two products by features, and the
/// logits by tokens. The split is carried back to the products that make these
/// rows: each member computes a part of their columns. A product of split rows
/// yields a partial sum at each member.
class ShardPlan {
public:
  /// Makes the plan of a model. Emits an error at the op if sizes do not divide
  /// by the members, if an op that needs whole rows gets split ones, if a cut
  /// falls inside a block of a quantised weight, or if the model is split
  /// already.
  static mlir::FailureOr<ShardPlan> create(ir::ModelOp model, int64_t members);

  int64_t getMembers() const { return members; }

  /// Returns how a value's rows are split, or null if they are not.
  const FeatureSplit *find(mlir::Value rows) const {
    auto found = splits.find(rows);
    return found == splits.end() ? nullptr : &found->second;
  }
  /// Returns how the input rows of a product are split, or null if they are
  /// not.
  const FeatureSplit *findInput(ir::LinearOp linear) const {
    return find(linear.getInput());
  }
  const HeadSplit *findHeads(ir::AttendOp op) const {
    auto found = heads.find(op);
    return found == heads.end() ? nullptr : &found->second;
  }
  /// Returns whether the product makes the split logits.
  bool isLogits(ir::LinearOp linear) const {
    return logits == linear.getResult();
  }

  /// Returns the ops that are computed, or whose data are kept, at several
  /// members, each with the reason.
  llvm::ArrayRef<std::pair<mlir::Operation *, std::string>> getMissed() const {
    return missed;
  }

private:
  explicit ShardPlan(int64_t members) : members(members) {}

  mlir::LogicalResult splitHeads(ir::AttendOp op);
  mlir::LogicalResult splitMiddle(mlir::Operation *op);
  void splitLogits(ir::ReturnOp op);
  mlir::LogicalResult splitFused(ir::SplitQKVOp op);
  mlir::LogicalResult demand(mlir::Value rows, const FeatureSplit &split,
                             mlir::Operation *user);
  mlir::LogicalResult check(mlir::Operation *op) const;
  mlir::LogicalResult checkLinear(ir::LinearOp op) const;

  int64_t members;
  llvm::DenseMap<mlir::Value, FeatureSplit> splits;
  llvm::DenseMap<mlir::Operation *, HeadSplit> heads;
  mlir::Value logits; ///< result of the product if split, else null
  llvm::SmallVector<std::pair<mlir::Operation *, std::string>> missed;
};

} // namespace sluice

#endif // SLUICE_LIB_DIALECT_SLUICE_TRANSFORMS_SHARDPLAN_H
