//===- GreedyTokens.h - kernels that find the greatest logit --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCUDA_GREEDYTOKENS_H
#define SLUICE_LIB_CONVERSION_SLUICETOCUDA_GREEDYTOKENS_H

#include "DeviceKernels.h"

namespace sluice::tocuda {

/// Returns the kernels of a task that finds the tokens of the greatest logits.
/// A vocabulary is wider than a row, and outputs are few. Therefore several
/// blocks search a part each, and another kernel chooses among their results.
/// The result is exact in any order.
llvm::SmallVector<mlir::Attribute> getGreedyKernels(KernelModule &kernels,
                                                    ir::TaskSampleOp task);

/// Returns how many floats the results of several parts take for each output; 0
/// if the vocabulary is one part.
int64_t getGreedyFloats(int64_t vocabulary);

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_GREEDYTOKENS_H
