//===- WeightUses.h - the numbers of weight uses --------------------------===//
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
/// tied table has two uses: it is looked up by row, and it is packed as a
/// matrix.
class WeightUses {
public:
  /// Returns the number of this use of a `sluice.param`'s value.
  int64_t getIndex(mlir::Value param, ir::WeightUseKind use,
                   bool transposed = false);
  /// Returns the number of a gate's weight, which is only used linearly, with a
  /// partner. Also numbers the partner.
  int64_t getGatedIndex(mlir::Value gate, mlir::Value partner, bool transposed);

  /// Returns the #sluice.weight_use of every number.
  llvm::ArrayRef<mlir::Attribute> getUses() const { return uses; }

private:
  int64_t getIndex(mlir::Attribute use);

  llvm::SmallVector<mlir::Attribute> uses;
  llvm::DenseMap<mlir::Attribute, int64_t> indices; // of `uses`
};

} // namespace sluice::planning

#endif // SLUICE_LIB_CONVERSION_STEPPLANNING_WEIGHTUSES_H
