//===- CudaProgram.h - a compiled program for a GPU, and its weights ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_CUDAPROGRAM_H
#define SLUICE_RUNTIME_DEVICE_CUDA_CUDAPROGRAM_H

#include "runtime/base/Status.h"
#include "runtime/device/ProgramShape.h"
#include "runtime/device/cuda/CudaProgramABI.h"
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

/// A matrix as a model's file has it: rows of rowBytes(stored, cols), or of
/// e4m3 numbers whose scales lie apart, one after the other, at any alignment;
/// or a part of one. Not owned.
struct StoredMatrix {
  const uint8_t *data = nullptr;
  Format stored = Format::F32;
  Format format = Format::F32; ///< that the program computes in
  int64_t rows = 0;
  int64_t cols = 0;
  std::optional<ScaleGrid> scales = {}; ///< of linear weights
  /// Where it is a part of the matrix that lies there, which has these.
  WeightSlice slice = {};
  int64_t wholeRows = 0;
  int64_t wholeCols = 0;
  /// Its rows are these, in `stored`, and are made on the device: nothing lies
  /// at `data`. Of weights that canMakeOnDevice() (weights/WeightMaker.h).
  std::optional<RandomRows> random = {};
};

/// Of matrix products (use "linear"): rows are output columns, or with
/// `transposed` input features. Gated: `partner` has the same shape.
struct LinearWeight {
  std::string name; ///< for errors
  StoredMatrix matrix;
  bool transposed = false;
  std::optional<StoredMatrix> partner;
  /// Another weight's partner: it has no place of its own.
  bool isPartner = false;
};

/// A table whose rows are looked up (use "rows").
struct TableWeight {
  std::string name;
  StoredMatrix matrix;
  /// The number of a linear weight that is the same numbers, neither
  /// transposed nor with a partner, whose place it shares; -1: none.
  int64_t tied = -1;
};

/// The linear weight as which a table lies on the device: its rows are the
/// columns. A format without kernels is widened to f32.
LinearWeight tilesOf(const TableWeight &table);

/// A vector (use "vector"): f32 on the device.
struct VectorWeight {
  std::string name;
  StoredMatrix matrix; ///< all of its rows, one after the other
};

using CudaWeight = std::variant<LinearWeight, TableWeight, VectorWeight>;

/// A compiled program and its weights, in the descriptor's order.
struct CudaProgram : device::ProgramShape {
  SluiceGraphFunction build = nullptr;
  std::span<const uint8_t> image; ///< of its kernels; empty: it has none
  std::vector<CudaWeight> weights;
  int64_t members = 1; ///< of the group that computes it
};

/// Bounds of an Executor; all memory for them is taken at the start.
struct CudaExecutorLimits {
  int64_t rows = 512;        ///< rows of a step
  int64_t outputs = 1;       ///< rows of a step that ask for logits
  int64_t sequences = 1;     ///< that have rows in a step
  int64_t pages = 0;         ///< of the cache, as CachePages has
  int64_t contextLength = 0; ///< of one sequence; 0: the program's
  CacheKind cacheKind = CacheKind::F16;
  /// Products of many rows by cuBLASLt: a row's bits then depend on the size of
  /// its step, and how fast they are on the library.
  bool fastMathBatch = false;
};

/// Fills in what zeros stand for, and checks the program and the limits against
/// each other. Errors: a program that does not fit together, a weight that no
/// kernel takes, heads too large, limits out of range.
Expected<CudaExecutorLimits> resolveLimits(const CudaProgram &program,
                                           CudaExecutorLimits limits);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_CUDAPROGRAM_H
