//===- OperandRows.cu - makes the operand rows of products ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Kernels.h"
#include "runtime/device/cuda/kernels/OperandRow.cuh"

using namespace sluice::cuda;

namespace {

/// A row in memory.
struct StoredRow {
  const float *x;
  int32_t features;

  SLUICE_MEMBER void load(float (&to)[8], int32_t at) const {
    // Rows of a multiple of four numbers are aligned.
    if (features % 4 == 0) {
      loadFour(to, at);
      loadFour(to + 4, at + 4);
      return;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
      to[i] = at + i < features ? x[at + i] : 0.0f;
  }

private:
  SLUICE_MEMBER void loadFour(float *to, int32_t at) const {
    Vector4 four = {};
    if (at < features)
      four = load16(x + at);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      to[i] = floatOfBits(four.word[i]);
  }
};

} // namespace

extern "C" SLUICE_KERNEL(maxOperandThreads)
    sluice_operand_rows(const OperandArguments arguments) {
  launchDependents();
  waitForPrior();
  const int64_t row = blockX();
  if (row >= *arguments.rowCount)
    return;
  const StoredRow source = {arguments.x + row * arguments.features,
                            arguments.features};
  const OperandOutput memory = {arguments.operand, arguments.scales,
                                arguments.sums, arguments.features,
                                arguments.kind};
  OperandRow<StoredRow, 4>(memory, source, row,
                           operandThreads(arguments.features))
      .make();
}
