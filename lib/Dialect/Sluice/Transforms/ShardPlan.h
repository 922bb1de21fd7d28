//===- ShardPlan.h - which rows of a model are split over a group ---------===//
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

/// The dimension of a weight that is cut; a vector has columns alone.
enum class WeightDim { Rows, Columns };

/// Says of each value of a model whether its rows are split over the members of
/// a group, and how. Rows that are not are the same at all members.
///
/// What splits is attention, by heads; what stands between two products, by
/// features; and the logits, by tokens. From there it goes back to the products
/// that make these rows: they are computed by columns. A product that takes
/// split rows gives a part of a sum.
class ShardPlan {
public:
  /// Errors, at the op: sizes that do not divide by the members; split rows in
  /// an op that needs whole ones; a cut inside a block of a quantised weight; a
  /// model that is split already.
  static mlir::FailureOr<ShardPlan> create(ir::ModelOp model, int64_t members);

  int64_t getMembers() const { return members; }

  /// How a value's rows are split; null: they are not.
  const FeatureSplit *find(mlir::Value rows) const {
    auto found = splits.find(rows);
    return found == splits.end() ? nullptr : &found->second;
  }
  /// How the rows that a product takes are split.
  const FeatureSplit *findInput(ir::LinearOp linear) const {
    return find(linear.getInput());
  }
  const HeadSplit *findHeads(ir::AttendOp op) const {
    auto found = heads.find(op);
    return found == heads.end() ? nullptr : &found->second;
  }
  /// Whether the product makes the logits.
  bool isLogits(ir::LinearOp linear) const {
    return logits == linear.getResult();
  }

  /// What is computed or kept at several members, and why.
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
  mlir::Value logits; ///< of the product that makes them; null: no such
  llvm::SmallVector<std::pair<mlir::Operation *, std::string>> missed;
};

} // namespace sluice

#endif // SLUICE_LIB_DIALECT_SLUICE_TRANSFORMS_SHARDPLAN_H
