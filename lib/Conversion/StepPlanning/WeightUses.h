//===- WeightUses.h - how emitted code names weights ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_STEPPLANNING_WEIGHTUSES_H
#define SLUICE_LIB_CONVERSION_STEPPLANNING_WEIGHTUSES_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "llvm/ADT/DenseMap.h"

namespace sluice::planning {

/// Numbers the uses of weights in the order in which code first needs them. A
/// tied table has two: it is looked up by row and is packed as a matrix.
class WeightUses {
public:
  /// The index of this use of the value of a `sluice.param`.
  int64_t getIndex(mlir::Value param, ir::WeightUseKind use,
                   bool transposed = false);
  /// That of a gate's weight, which is used linearly with a partner and not
  /// otherwise. The partner has an index, too.
  int64_t getGatedIndex(mlir::Value gate, mlir::Value partner, bool transposed);

  /// #sluice.weight_use of every index.
  llvm::ArrayRef<mlir::Attribute> getUses() const { return uses; }

private:
  int64_t getIndex(mlir::Attribute use);

  llvm::SmallVector<mlir::Attribute> uses;
  llvm::DenseMap<mlir::Attribute, int64_t> indices; // of `uses`
};

} // namespace sluice::planning

#endif // SLUICE_LIB_CONVERSION_STEPPLANNING_WEIGHTUSES_H
