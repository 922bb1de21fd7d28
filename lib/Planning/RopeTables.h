//===- RopeTables.h - the tables that rotations read ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_PLANNING_ROPETABLES_H
#define SLUICE_LIB_PLANNING_ROPETABLES_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

namespace sluice::planning {

/// The table of a rotation. Equal tables are equal attributes, so that a step
/// computes each once. Reads the values of the op's factors, which change the
/// table's constants, from the model's file; reports a file that cannot be
/// read, is not the one that was imported, or whose factors give no finite
/// table.
mlir::FailureOr<ir::RopeTableAttr> computeRopeTable(ir::RopeOp op);

} // namespace sluice::planning

#endif // SLUICE_LIB_PLANNING_ROPETABLES_H
