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

/// The kernels that find the token of the greatest logit. A vocabulary is wider
/// than a row, and outputs are few. Therefore several blocks search a part
/// each, and another kernel chooses among their results. The result is exact in
/// any order.
class GreedyKernels {
public:
  GreedyKernels(KernelModule &kernels, int64_t vocabulary)
      : kernels(kernels), vocabulary(vocabulary) {}

  /// Returns the threads that search the parts.
  RowShape getSearchShape() const;
  /// Returns one warp.
  RowShape getMergeShape() const { return {warpThreads, 1}; }

  /// Returns a kernel with parameters (count, logits, tokens), or with several
  /// parts (count, logits, found), where found[output][part] is a key and a
  /// token.
  mlir::gpu::GPUFuncOp getSearch(mlir::Location loc);
  /// Returns a kernel with parameters (count, found, tokens).
  mlir::gpu::GPUFuncOp getMerge(mlir::Location loc);

private:
  KernelModule &kernels;
  int64_t vocabulary;
};

/// Returns how many floats the results of several parts take for each output; 0
/// if the vocabulary is one part.
int64_t getGreedyFloats(int64_t vocabulary);

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_GREEDYTOKENS_H
