//===- CublasLt.h - matrix products by cuBLASLt ---------------------------===//
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

/// A loaded cuBLASLt and its handle, for the context that was current when it
/// was opened. The library is never unloaded. Thread-compatible; the context
/// must be current in each call.
class CublasLt {
public:
  /// Opens the library. Errors, one line each: it does not exist, lacks a
  /// function, or does not start.
  static Expected<std::unique_ptr<CublasLt>> open(const std::string &library);
  ~CublasLt();

  /// Puts the product into the stream, which may be capturing. Errors: those of
  /// the library; it has no algorithm for the product.
  Status enqueue(const ProductNode &product, Stream stream);

private:
  /// The key of an algorithm: rows, columns, features, distance of result rows,
  /// type, whether there is an addend, alignment of results.
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
