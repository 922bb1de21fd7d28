//===- OperandLayout.h - operand rows as a buffer of a step ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout of the operand rows of KernelABI.h in a buffer of a step's plan.
// An f16 operand has three parts, each an array of its own: the rows, the sums
// of their blocks, and their scales. The functions return sizes in floats of a
// record; with a capacity of R records, a part begins at float R * offset of
// the buffer.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_OPERANDLAYOUT_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_OPERANDLAYOUT_H

#include "runtime/device/cuda/kernels/KernelABI.h"

namespace sluice::cuda {

constexpr int64_t operandUnits(int64_t features) {
  return (features + operandUnit - 1) / operandUnit;
}

/// Returns where the sums of an f16 operand begin; the rows are before them.
constexpr int64_t operandSumsOffset(int64_t features) {
  return operandUnits(features) * (operandUnit / 2);
}

/// Returns where the scales of an f16 operand begin. The sums are rounded up to
/// multiples of 16 floats, so that all parts are aligned.
constexpr int64_t operandScalesOffset(int64_t features) {
  constexpr int64_t sums = operandUnit / operandBlock, aligned = 16;
  return operandSumsOffset(features) +
         (operandUnits(features) * sums + aligned - 1) / aligned * aligned;
}

/// Returns the size of an operand of `features` numbers. An f16 operand ends
/// with its scale, and is a multiple of 4 floats.
constexpr int64_t operandRowFloats(OperandKind kind, int64_t features) {
  switch (kind) {
  case OperandKind::F32:
    return operandUnits(features) * operandUnit;
  case OperandKind::BF16:
    return operandUnits(features) * (operandUnit / 2);
  case OperandKind::F16:
    break;
  }
  return operandScalesOffset(features) + 4;
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_OPERANDLAYOUT_H
