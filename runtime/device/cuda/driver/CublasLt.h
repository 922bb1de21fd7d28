//===- CublasLt.h - products of matrices by NVIDIA's library --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_CUBLASLT_H
#define SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_CUBLASLT_H

#include "runtime/device/cuda/driver/CublasLtTypes.h"
#include "runtime/device/cuda/driver/Driver.h"

#include <map>
#include <tuple>

namespace sluice::cuda {

/// A library and its handle, of the context that was current when it was
/// opened. The library is never unloaded. Thread-compatible; the context is
/// current in each call.
class CublasLt {
public:
  /// Errors, one line each: the library is not there, lacks a function, or
  /// does not start.
  static Expected<std::unique_ptr<CublasLt>> open(const std::string &library);
  ~CublasLt();

  /// Puts the product into the stream, which may be capturing. Errors: the
  /// library's, and that it has no algorithm for the product.
  Status enqueue(const ProductNode &product, Stream stream);

private:
  /// What decides an algorithm: rows, columns, features, distance of results,
  /// type, whether something is added, alignment of results.
  using Shape =
      std::tuple<int64_t, int64_t, int64_t, int64_t, bool, bool, uint32_t>;
  struct Descriptors;

  CublasLt() = default;
  Status check(int result, const char *call) const;
  Status describe(const ProductNode &product, Descriptors &made) const;
  Expected<lt::Algorithm> algorithmFor(const ProductNode &product,
                                       const Descriptors &descriptors);

#define SLUICE_DECLARE_CALL(member, symbol, ...) int (*member)(__VA_ARGS__);
  SLUICE_CUBLASLT_CALLS(SLUICE_DECLARE_CALL)
#undef SLUICE_DECLARE_CALL
  lt::LtHandle handle = nullptr;
  std::map<Shape, lt::Algorithm> chosen;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_CUBLASLT_H
