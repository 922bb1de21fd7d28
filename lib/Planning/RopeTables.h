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

/// Returns the table of a rotation. Equal tables are equal attributes, so that
/// a step computes each once. If the op has factors, which change the table's
/// constants, reads their values from the model's file. Reports an error if the
/// file cannot be read or is not the imported file, or if the factors do not
/// give a finite table.
mlir::FailureOr<ir::RopeTableAttr> computeRopeTable(ir::RopeOp op);

} // namespace sluice::planning

#endif // SLUICE_LIB_PLANNING_ROPETABLES_H
