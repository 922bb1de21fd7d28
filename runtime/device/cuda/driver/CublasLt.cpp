//===- CublasLt.cpp - matrix products by cuBLASLt -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library's matrices are column-major. So result[row][column] is its
// D[column][row]: D = A^T B + C, where A = weight is [feature][column] to the
// library, and B = rows is [feature][row].
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/driver/CublasLt.h"

#include "runtime/base/SharedLibrary.h"

#include <algorithm>

namespace sluice::cuda {

namespace {

/// Calls a function of the library, and returns its error.
#define SLUICE_CUBLASLT_TRY(call, name)                                        \
  if (Status s = check(call, name); !s.ok())                                   \
  return s

template <typename T> T *pointer(DeviceAddress address) {
  return reinterpret_cast<T *>(address);
}

/// Returns the alignment of the address, as far as it matters to the library.
uint32_t alignmentOf(DeviceAddress address) {
  constexpr DeviceAddress max = 256;
  return static_cast<uint32_t>(std::min(max, address & ~(address - 1)));
}

/// Returns the common alignment of the result and of what is added to it.
uint32_t resultAlignment(const ProductNode &product) {
  uint32_t result = alignmentOf(product.result);
  return product.addend ? std::min(result, alignmentOf(product.addend))
                        : result;
}

} // namespace

/// Owns the library's objects for one product.
struct CublasLt::Descriptors {
  explicit Descriptors(const CublasLt &lib) : lib(lib) {}
  Descriptors(const Descriptors &) = delete;
  Descriptors &operator=(const Descriptors &) = delete;
  ~Descriptors() {
    for (lt::LtHandle matrix : {weight, rows, result})
      if (matrix)
        lib.destroyMatrix(matrix);
    if (product)
      lib.destroyProduct(product);
    if (preference)
      lib.destroyPreference(preference);
  }
  const CublasLt &lib;
  lt::LtHandle product = nullptr, preference = nullptr;
  lt::LtHandle weight = nullptr, rows = nullptr, result = nullptr;
};

Expected<std::unique_ptr<CublasLt>> CublasLt::open(const std::string &library) {
  Expected<SharedLibrary> opened = SharedLibrary::open(library);
  if (!opened)
    return opened.status().withContext("no cuBLASLt is here");
  std::unique_ptr<CublasLt> made(new CublasLt);
#define SLUICE_FIND_CALL(member, symbol, ...)                                  \
  if (Status s = opened->find(#symbol, made->member); !s.ok())                 \
    return failure(library, " ", s.message());
  SLUICE_CUBLASLT_CALLS(SLUICE_FIND_CALL)
#undef SLUICE_FIND_CALL
  SLUICE_RETURN_IF_ERROR(
      made->check(made->create(&made->handle), "cublasLtCreate"));
  return made;
}

CublasLt::~CublasLt() {
  if (handle)
    destroy(handle);
}

Status CublasLt::check(int result, const char *call) const {
  return result == lt::success ? Status()
                               : failure(call, ": cuBLAS status ", result);
}

Status CublasLt::describe(const ProductNode &product, Descriptors &made) const {
  const int type = product.isBfloat ? lt::typeBF16 : lt::typeF16;
  SLUICE_CUBLASLT_TRY(makeProduct(&made.product, lt::computeF32, lt::typeF32),
                      "cublasLtMatmulDescCreate");
  SLUICE_CUBLASLT_TRY(setProduct(made.product, lt::productTransA,
                                 &lt::transposed, sizeof(lt::transposed)),
                      "cublasLtMatmulDescSetAttribute");
  struct Matrix {
    lt::LtHandle *made;
    int type;
    int64_t height, width, distance;
  };
  for (const Matrix &matrix :
       {Matrix{&made.weight, type, product.features, product.columns,
               product.features},
        Matrix{&made.rows, type, product.features, product.rowCount,
               product.features},
        Matrix{&made.result, lt::typeF32, product.columns, product.rowCount,
               product.resultStride}})
    SLUICE_CUBLASLT_TRY(makeMatrix(matrix.made, matrix.type,
                                   static_cast<uint64_t>(matrix.height),
                                   static_cast<uint64_t>(matrix.width),
                                   matrix.distance),
                        "cublasLtMatrixLayoutCreate");
  SLUICE_CUBLASLT_TRY(makePreference(&made.preference),
                      "cublasLtMatmulPreferenceCreate");
  const uint64_t workspace = product.workspaceBytes;
  SLUICE_CUBLASLT_TRY(setPreference(made.preference, lt::preferWorkspaceBytes,
                                    &workspace, sizeof(workspace)),
                      "cublasLtMatmulPreferenceSetAttribute");
  const uint32_t results = resultAlignment(product);
  const uint32_t alignments[] = {alignmentOf(product.weight),
                                 alignmentOf(product.rows), results, results};
  for (int i = 0; i < 4; ++i)
    SLUICE_CUBLASLT_TRY(setPreference(made.preference, lt::preferAlignmentA + i,
                                      &alignments[i], sizeof(uint32_t)),
                        "cublasLtMatmulPreferenceSetAttribute");
  return {};
}

Expected<lt::Algorithm> CublasLt::algorithmFor(const ProductNode &product,
                                               const Descriptors &descriptors) {
  Shape shape = {product.rowCount,        product.columns,  product.features,
                 product.resultStride,    product.isBfloat, product.addend != 0,
                 resultAlignment(product)};
  if (auto known = chosen.find(shape); known != chosen.end())
    return known->second;
  lt::Heuristic best;
  int found = 0;
  SLUICE_CUBLASLT_TRY(choose(handle, descriptors.product, descriptors.weight,
                             descriptors.rows, descriptors.result,
                             descriptors.result, descriptors.preference, 1,
                             &best, &found),
                      "cublasLtMatmulAlgoGetHeuristic");
  // If the state is not success, the other fields are undefined.
  if (found < 1 || best.state != lt::success ||
      best.workspaceBytes > product.workspaceBytes)
    return failure("cuBLASLt has no algorithm for ", product.rowCount,
                   " rows of ", product.features, " by ", product.columns,
                   " columns");
  chosen[shape] = best.algorithm;
  return best.algorithm;
}

Status CublasLt::enqueue(const ProductNode &product, Stream stream) {
  Descriptors made(*this);
  SLUICE_RETURN_IF_ERROR(describe(product, made));
  Expected<lt::Algorithm> algorithm = algorithmFor(product, made);
  if (!algorithm)
    return algorithm.status();
  const float one = 1, addend = product.addend ? 1 : 0;
  const DeviceAddress added = product.addend ? product.addend : product.result;
  return check(
      multiply(handle, made.product, &one, pointer<void>(product.weight),
               made.weight, pointer<void>(product.rows), made.rows, &addend,
               pointer<void>(added), made.result, pointer<void>(product.result),
               made.result, &*algorithm, pointer<void>(product.workspace),
               product.workspaceBytes, stream),
      "cublasLtMatmul");
}

} // namespace sluice::cuda
