//===- CublasLtTypes.h - the part of cuBLASLt's interface that is used ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types and numbers of cuBLAS 13, as LibCudaTypes.h has those of libcuda. A
// test compares them with cublasLt.h if that is installed.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_CUBLASLTTYPES_H
#define SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_CUBLASLTTYPES_H

#include <cstddef>
#include <cstdint>

namespace sluice::cuda::lt {

using LtHandle = void *;

constexpr int success = 0; ///< cublasStatus_t

// cudaDataType, cublasComputeType_t, cublasOperation_t
constexpr int typeF32 = 0, typeF16 = 2, typeBF16 = 14;
constexpr int computeF32 = 68;
constexpr int32_t transposed = 1;

// cublasLtMatmulDescAttributes_t, cublasLtMatmulPreferenceAttributes_t
constexpr int productTransA = 3;
constexpr int preferWorkspaceBytes = 1;
/// The alignment attribute of A; those of B, C and D are the numbers 6 to 8.
constexpr int preferAlignmentA = 5;

/// cublasLtMatmulAlgo_t
struct Algorithm {
  uint64_t data[8] = {};
};

/// cublasLtMatmulHeuristicResult_t
struct Heuristic {
  Algorithm algorithm;
  size_t workspaceBytes = 0;
  int state = 0;
  float waves = 0;
  int reserved[4] = {};
};

/// call(member, symbol, parameters...) for every function that is used. All
/// return a cublasStatus_t.
// clang-format off
#define SLUICE_CUBLASLT_CALLS(call)                                            \
  call(create, cublasLtCreate, lt::LtHandle *)                                   \
  call(destroy, cublasLtDestroy, lt::LtHandle)                                   \
  call(makeProduct, cublasLtMatmulDescCreate, lt::LtHandle *, int, int)          \
  call(destroyProduct, cublasLtMatmulDescDestroy, lt::LtHandle)                  \
  call(setProduct, cublasLtMatmulDescSetAttribute, lt::LtHandle, int,            \
       const void *, size_t)                                                   \
  call(makeMatrix, cublasLtMatrixLayoutCreate, lt::LtHandle *, int, uint64_t,    \
       uint64_t, int64_t)                                                      \
  call(destroyMatrix, cublasLtMatrixLayoutDestroy, lt::LtHandle)                 \
  call(makePreference, cublasLtMatmulPreferenceCreate, lt::LtHandle *)           \
  call(destroyPreference, cublasLtMatmulPreferenceDestroy, lt::LtHandle)         \
  call(setPreference, cublasLtMatmulPreferenceSetAttribute, lt::LtHandle, int,   \
       const void *, size_t)                                                   \
  call(choose, cublasLtMatmulAlgoGetHeuristic, lt::LtHandle, lt::LtHandle,         \
       lt::LtHandle, lt::LtHandle, lt::LtHandle, lt::LtHandle, lt::LtHandle, int,        \
       lt::Heuristic *, int *)                                                 \
  call(multiply, cublasLtMatmul, lt::LtHandle, lt::LtHandle, const void *,         \
       const void *, lt::LtHandle, const void *, lt::LtHandle, const void *,       \
       const void *, lt::LtHandle, void *, lt::LtHandle, const lt::Algorithm *,    \
       void *, size_t, void *)
// clang-format on

} // namespace sluice::cuda::lt

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_CUBLASLTTYPES_H
