//===- DenseLinear.h - linear layers by NVIDIA's library ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With many rows, and where a row's bits may depend on its batch mates
// (CudaExecutorLimits::fastMathBatch), cuBLASLt multiplies: it has instructions
// of the newest chips that kernels/LinearTile.cuh does not use. Some columns of
// the weight at a time are unpacked, multiplied, and finished.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_DENSELINEAR_H
#define SLUICE_RUNTIME_DEVICE_CUDA_DENSELINEAR_H

#include "runtime/device/cuda/SluiceGraph.h"

namespace sluice::cuda {

/// With fewer rows, to unpack the weight takes longer than it saves.
constexpr int64_t denseMinRows = 256;

/// All zeros where no product of the program is by the library.
DenseRoom denseRoom(const CudaProgram &program,
                    const CudaExecutorLimits &limits);

/// Whether graphs of `rows` rows compute weights of the kind so.
bool isDense(const CudaExecutorLimits &limits, WeightKind kind, int64_t rows);

/// Appends what one of the kernels sluice_linear_* does with the arguments.
/// `name`: the kind's in the names of kernels.
void addDenseLinear(SluiceGraph *graph, WeightKind kind, const char *name,
                    int32_t rows, const LinearArguments &arguments);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DENSELINEAR_H
