//===- Kernels.h - every kernel by name -----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels that are instantiated, as lists, and for the emulator their
// declarations: there a kernel is a function that each thread calls.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_KERNELS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_KERNELS_H

#include "runtime/device/cuda/kernels/KernelABI.h"

/// make(kind, name, rows) for each kernel sluice_linear_<name>_<rows>.
#define SLUICE_FOR_EACH_LINEAR_ROWS(make, kind, name)                          \
  make(kind, name, 8) make(kind, name, 16) make(kind, name, 32)                \
      make(kind, name, 64)
#define SLUICE_FOR_EACH_LINEAR(make)                                           \
  SLUICE_FOR_EACH_LINEAR_ROWS(make, F32, f32)                                  \
  SLUICE_FOR_EACH_LINEAR_ROWS(make, F16, f16)                                  \
  SLUICE_FOR_EACH_LINEAR_ROWS(make, BF16, bf16)                                \
  SLUICE_FOR_EACH_LINEAR_ROWS(make, E4M3, e4m3)                                \
  SLUICE_FOR_EACH_LINEAR_ROWS(make, Q8_0, q8_0)                                \
  SLUICE_FOR_EACH_LINEAR_ROWS(make, Q4_0, q4_0)                                \
  SLUICE_FOR_EACH_LINEAR_ROWS(make, Q4_K, q4_k)                                \
  SLUICE_FOR_EACH_LINEAR_ROWS(make, Q6_K, q6_k)

#ifndef __CUDACC__
extern "C" {
void sluice_operand_rows(sluice::cuda::OperandArguments arguments);
#define SLUICE_DECLARE_LINEAR(kind, name, rows)                                \
  void sluice_linear_##name##_##rows(sluice::cuda::LinearArguments arguments);
SLUICE_FOR_EACH_LINEAR(SLUICE_DECLARE_LINEAR)
#undef SLUICE_DECLARE_LINEAR
}
#endif

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_KERNELS_H
