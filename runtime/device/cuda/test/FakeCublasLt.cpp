//===- FakeCublasLt.cpp - a fake cuBLASLt ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Multiplies at once, in host memory, with column-major matrices as cuBLASLt
// documents them. SLUICE_FAKE_CUBLASLT_FAIL names a function that fails; or
// "none" to find no algorithm, "state" for an invalid one, "workspace" for one
// that takes more memory than it may.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/driver/CublasLtTypes.h"
#include "runtime/formats/BlockFormat.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <string>

namespace lt = sluice::cuda::lt;

namespace {

struct Matrix {
  int type;
  uint64_t rows, columns;
  int64_t distance;
};

struct Product {
  int32_t transA = 0;
};

struct Preference {
  uint64_t workspaceBytes = 0;
  uint32_t alignments[4] = {256, 256, 256, 256};
};

int alive = 0;
int searches = 0;

int result(const char *name) {
  const char *fails = std::getenv("SLUICE_FAKE_CUBLASLT_FAIL");
  return fails && std::strcmp(fails, name) == 0 ? 13 : 0;
}

template <typename T>
int make(lt::LtHandle *handle, T value, const char *name) {
  if (int failed = result(name))
    return failed;
  *handle = new T(value);
  ++alive;
  return 0;
}

template <typename T> int drop(lt::LtHandle handle) {
  delete static_cast<T *>(handle);
  --alive;
  return 0;
}

float at(const Matrix &matrix, const void *data, uint64_t row,
         uint64_t column) {
  uint64_t place = column * uint64_t(matrix.distance) + row;
  if (matrix.type == lt::typeF32)
    return static_cast<const float *>(data)[place];
  uint16_t bits = static_cast<const uint16_t *>(data)[place];
  return matrix.type == lt::typeF16
             ? sluice::halfToFloat(bits)
             : std::bit_cast<float>(uint32_t{bits} << 16);
}

} // namespace

extern "C" {

int fake_cublaslt_alive() { return alive; }
int fake_cublaslt_searches() { return searches; }

int cublasLtCreate(lt::LtHandle *handle) {
  return make(handle, 0, "cublasLtCreate");
}
int cublasLtDestroy(lt::LtHandle handle) { return drop<int>(handle); }
int cublasLtMatmulDescCreate(lt::LtHandle *handle, int compute, int scale) {
  if (compute != lt::computeF32 || scale != lt::typeF32)
    return 7;
  return make(handle, Product(), "cublasLtMatmulDescCreate");
}
int cublasLtMatmulDescDestroy(lt::LtHandle handle) {
  return drop<Product>(handle);
}
int cublasLtMatmulDescSetAttribute(lt::LtHandle handle, int attribute,
                                   const void *value, size_t bytes) {
  if (attribute != lt::productTransA || bytes != sizeof(int32_t))
    return 7;
  std::memcpy(&static_cast<Product *>(handle)->transA, value, bytes);
  return result("cublasLtMatmulDescSetAttribute");
}
int cublasLtMatrixLayoutCreate(lt::LtHandle *handle, int type, uint64_t rows,
                               uint64_t columns, int64_t distance) {
  if (distance < int64_t(rows))
    return 7;
  return make(handle, Matrix{type, rows, columns, distance},
              "cublasLtMatrixLayoutCreate");
}
int cublasLtMatrixLayoutDestroy(lt::LtHandle handle) {
  return drop<Matrix>(handle);
}
int cublasLtMatmulPreferenceCreate(lt::LtHandle *handle) {
  return make(handle, Preference(), "cublasLtMatmulPreferenceCreate");
}
int cublasLtMatmulPreferenceDestroy(lt::LtHandle handle) {
  return drop<Preference>(handle);
}
int cublasLtMatmulPreferenceSetAttribute(lt::LtHandle handle, int attribute,
                                         const void *value, size_t bytes) {
  auto *preference = static_cast<Preference *>(handle);
  if (attribute == lt::preferWorkspaceBytes && bytes == sizeof(uint64_t))
    std::memcpy(&preference->workspaceBytes, value, bytes);
  else if (attribute >= lt::preferAlignmentA &&
           attribute < lt::preferAlignmentA + 4 && bytes == sizeof(uint32_t))
    std::memcpy(&preference->alignments[attribute - lt::preferAlignmentA],
                value, bytes);
  else
    return 7;
  return result("cublasLtMatmulPreferenceSetAttribute");
}

int cublasLtMatmulAlgoGetHeuristic(lt::LtHandle, lt::LtHandle, lt::LtHandle,
                                   lt::LtHandle, lt::LtHandle, lt::LtHandle,
                                   lt::LtHandle handle, int wanted,
                                   lt::Heuristic *found, int *count) {
  ++searches;
  const auto *preference = static_cast<const Preference *>(handle);
  *count = result("none") ? 0 : wanted;
  found->algorithm.data[0] = preference->alignments[3];
  found->workspaceBytes =
      preference->workspaceBytes + (result("workspace") ? 1 : 0);
  found->state = result("state");
  return result("cublasLtMatmulAlgoGetHeuristic");
}

int cublasLtMatmul(lt::LtHandle, lt::LtHandle product, const void *alpha,
                   const void *a, lt::LtHandle aShape, const void *b,
                   lt::LtHandle bShape, const void *beta, const void *c,
                   lt::LtHandle cShape, void *d, lt::LtHandle dShape,
                   const lt::Algorithm *algorithm, void *, size_t,
                   void *stream) {
  const auto &A = *static_cast<Matrix *>(aShape);
  const auto &B = *static_cast<Matrix *>(bShape);
  const auto &C = *static_cast<Matrix *>(cShape);
  const auto &D = *static_cast<Matrix *>(dShape);
  // The algorithm was chosen for this alignment.
  const bool isAligned =
      reinterpret_cast<uintptr_t>(d) % algorithm->data[0] == 0;
  if (static_cast<Product *>(product)->transA != lt::transposed || !stream ||
      !isAligned || A.type != B.type || C.type != lt::typeF32 ||
      D.type != lt::typeF32 || A.rows != B.rows || A.columns != D.rows ||
      B.columns != D.columns)
    return 7;
  for (uint64_t column = 0; column < D.columns; ++column)
    for (uint64_t row = 0; row < D.rows; ++row) {
      float sum = 0;
      for (uint64_t k = 0; k < A.rows; ++k)
        sum += at(A, a, k, row) * at(B, b, k, column);
      sum *= *static_cast<const float *>(alpha);
      if (float factor = *static_cast<const float *>(beta))
        sum += factor * at(C, c, row, column);
      static_cast<float *>(d)[column * uint64_t(D.distance) + row] = sum;
    }
  return result("cublasLtMatmul");
}

} // extern "C"
