//===- TaskSignature.h - what makes row loops the same --------------------===//
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

/// Returns what the function of a row loop is called: after its ops.
std::string nameRowKernel(ir::TaskRowsOp loop);

/// Returns a text that is equal for row loops that the same function does:
/// their ops with attributes and widths, and which argument each op uses for
/// what: `getPlaces` gives the places of an op's among the function's. Values
/// in registers go by the order in which they come up.
std::string getSignature(
    ir::TaskRowsOp loop,
    llvm::function_ref<llvm::SmallVector<size_t>(mlir::Operation *)> getPlaces);

/// Where the arguments of `used` stand in `all`, which has each of them.
template <typename Argument>
llvm::SmallVector<size_t> findPlaces(llvm::ArrayRef<Argument> used,
                                     llvm::ArrayRef<Argument> all) {
  return llvm::map_to_vector(used, [&](const Argument &argument) {
    return size_t(llvm::find(all, argument) - all.begin());
  });
}

} // namespace sluice::planning

#endif // SLUICE_LIB_CONVERSION_STEPPLANNING_TASKSIGNATURE_H
