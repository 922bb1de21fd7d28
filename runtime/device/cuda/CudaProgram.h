//===- CudaProgram.h - a compiled program for a GPU and its weights -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_CUDAPROGRAM_H
#define SLUICE_RUNTIME_DEVICE_CUDA_CUDAPROGRAM_H

#include "runtime/base/Status.h"
#include "runtime/device/ProgramShape.h"
#include "runtime/device/StepInput.h"
#include "runtime/device/cuda/kernels/CacheABI.h"
#include "runtime/formats/RandomRow.h"
#include "runtime/formats/WeightSlice.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace sluice::cuda {

/// A matrix as a model's file stores it, at any alignment; or a part of one.
/// Its rows have rowBytes(stored, cols) each, or are rows of e4m3 numbers whose
/// scales lie in a tensor of their own, one row after the other. Does not own
/// the data.
struct StoredMatrix {
  const uint8_t *data = nullptr;
  Format stored = Format::F32;
  Format format = Format::F32; ///< the format that the program computes in
  int64_t rows = 0;
  int64_t cols = 0;
  /// The scales of a linear weight of e4m3, if they lie apart.
  std::optional<ScaleGrid> scales = {};
  /// If this is a part of the matrix at `data`: which part, and the sizes of
  /// the whole matrix.
  WeightSlice slice = {};
  int64_t wholeRows = 0;
  int64_t wholeCols = 0;
  /// If set, the rows are these random ones, in the format `stored`; they are
  /// made on the device, and `data` points to nothing. Only for weights that
  /// canMakeOnDevice() accepts (weights/WeightMaker.h).
  std::optional<RandomRows> random = {};
};

/// A weight of matrix products (use "linear"). Its rows are output columns, or
/// with `transposed` input features. A gated weight has a `partner` of the same
/// shape.
struct LinearWeight {
  std::string name; ///< for errors
  StoredMatrix matrix;
  bool transposed = false;
  std::optional<StoredMatrix> partner;
  /// Whether it is the partner of another weight, which then has its place in
  /// memory.
  bool isPartner = false;
};

/// A table whose rows are looked up (use "rows").
struct TableWeight {
  std::string name;
  StoredMatrix matrix;
  /// The number of the linear weight that has the same numbers and whose place
  /// the table shares, or -1 if there is none. That weight is neither
  /// transposed nor has a partner.
  int64_t tied = -1;
};

/// Returns the linear weight as which a table lies on the device. The table's
/// rows become its columns. A format without kernels is widened to f32.
LinearWeight tilesOf(const TableWeight &table);

/// A vector (use "vector"), which is f32 on the device.
struct VectorWeight {
  std::string name;
  StoredMatrix matrix; ///< all rows of the vector, one after the other
};

using CudaWeight = std::variant<LinearWeight, TableWeight, VectorWeight>;

/// A compiled program and its weights, in the order of the descriptor.
struct CudaProgram : device::ProgramShape {
  /// The image with the kernels that `step` names; empty if there is none.
  std::span<const uint8_t> image;
  std::vector<CudaWeight> weights;
};

/// What a CudaExecutor is created with. It takes all memory for the limits at
/// the start, whether they say `resident` or not.
struct CudaExecutorOptions : device::StepLimits {
  CudaExecutorOptions() = default;
  explicit CudaExecutorOptions(const device::StepLimits &limits)
      : StepLimits(limits) {}

  CacheKind cacheKind = CacheKind::F16;
  /// Lets cuBLASLt compute the products of many rows. A row's bits then depend
  /// on the number of rows in its step, and the speed on the library.
  bool fastMathBatch = false;
};

/// Replaces zeros by their defaults and checks the program and the limits
/// against each other. Errors: a program whose parts do not fit together, a
/// weight that no kernel takes, heads that are too large, limits out of range.
Expected<CudaExecutorOptions> resolveOptions(const CudaProgram &program,
                                             CudaExecutorOptions limits);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_CUDAPROGRAM_H
