//===- TaskSignature.h - the identity of row loops ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETONATIVE_TASKSIGNATURE_H
#define SLUICE_LIB_CONVERSION_SLUICETONATIVE_TASKSIGNATURE_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include <string>

namespace sluice::native {

/// Returns the name of a row loop's function, which lists its ops.
std::string nameRowKernel(ir::TaskRowsOp loop);

/// Returns a text that is equal for row loops that can share a function. It
/// contains the ops with attributes and widths, and the numbers of the task's
/// operands that each op uses. Values in registers are numbered in the order in
/// which they occur.
std::string getSignature(ir::TaskRowsOp loop);

} // namespace sluice::native

#endif // SLUICE_LIB_CONVERSION_SLUICETONATIVE_TASKSIGNATURE_H
