//===- GreedyTokens.h - the token of greatest logit ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCUDA_GREEDYTOKENS_H
#define SLUICE_LIB_CONVERSION_SLUICETOCUDA_GREEDYTOKENS_H

#include "DeviceKernels.h"

namespace sluice::tocuda {

/// The kernels that find the token of greatest logit. A vocabulary is wider
/// than a row, and outputs are few: some blocks search a part each, and where
/// there are several another kernel chooses among what they found. The answer
/// is exact, in whatever order.
class GreedyKernels {
public:
  GreedyKernels(KernelModule &kernels, int64_t vocabulary)
      : kernels(kernels), vocabulary(vocabulary) {}

  /// The parts that are searched.
  RowShape getSearchShape() const;
  /// One warp.
  RowShape getMergeShape() const { return {warpThreads, 1}; }

  /// (count, logits, tokens), or with several parts (count, logits, found),
  /// where found[output][part] is a key and a token.
  mlir::gpu::GPUFuncOp getSearch(mlir::Location loc);
  /// (count, found, tokens).
  mlir::gpu::GPUFuncOp getMerge(mlir::Location loc);

private:
  KernelModule &kernels;
  int64_t vocabulary;
};

/// The floats of each output that several parts' tokens take; 0 where the
/// vocabulary is one part.
int64_t getGreedyFloats(int64_t vocabulary);

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_GREEDYTOKENS_H
