//===- DenseLinear.h - linear layers by cuBLASLt --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In graphs of at least denseMinRows rows, cuBLASLt computes the products
// (except those of F32 weights) if a row's bits may depend on the other rows of
// its batch (CudaExecutorOptions::fastMathBatch). It uses instructions of the
// newest chips that kernels/LinearTile.cuh does not use. The weight is
// unpacked, multiplied and finished some columns at a time.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_DENSELINEAR_H
#define SLUICE_RUNTIME_DEVICE_CUDA_DENSELINEAR_H

#include "runtime/device/cuda/StepGraph.h"

namespace sluice::cuda {

/// The least number of rows for which cuBLASLt is used. With fewer, unpacking
/// the weight takes longer than it saves.
constexpr int64_t denseMinRows = 256;

/// Returns the room that cuBLASLt's products need. Returns zeros if no product
/// uses cuBLASLt.
DenseRoom denseRoom(const CudaProgram &program,
                    const CudaExecutorOptions &limits);

/// Returns whether cuBLASLt multiplies weights of `kind` in graphs of `rows`
/// rows.
bool isDense(const CudaExecutorOptions &limits, WeightKind kind, int64_t rows);

/// Appends nodes that do what a kernel sluice_linear_* does with the arguments.
/// `name` is the name of the kind, as it occurs in the names of kernels.
void addDenseLinear(StepGraph *graph, WeightKind kind, const char *name,
                    int32_t rows, const LinearArguments &arguments);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DENSELINEAR_H
