//===- TaskSignature.h - the identity of row loops ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_STEPPLANNING_TASKSIGNATURE_H
#define SLUICE_LIB_CONVERSION_STEPPLANNING_TASKSIGNATURE_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "llvm/ADT/STLExtras.h"

#include <string>

namespace sluice::planning {

/// Returns the name of a row loop's function, which lists its ops.
std::string nameRowKernel(ir::TaskRowsOp loop);

/// Returns a text that is equal for row loops that can share a function. It
/// contains the ops with attributes and widths, and how each op uses the
/// function's arguments: `getPlaces` returns the places of an op's arguments
/// among the function's. Values in registers are numbered in the order in which
/// they occur.
std::string getSignature(
    ir::TaskRowsOp loop,
    llvm::function_ref<llvm::SmallVector<size_t>(mlir::Operation *)> getPlaces);

/// Returns the places of `used` in `all`, which contains each of them.
template <typename Argument>
llvm::SmallVector<size_t> findPlaces(llvm::ArrayRef<Argument> used,
                                     llvm::ArrayRef<Argument> all) {
  return llvm::map_to_vector(used, [&](const Argument &argument) {
    return size_t(llvm::find(all, argument) - all.begin());
  });
}

} // namespace sluice::planning

#endif // SLUICE_LIB_CONVERSION_STEPPLANNING_TASKSIGNATURE_H
