//===- LinearRun.h - one linear layer in the emulator, for tests ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_LINEARRUN_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_LINEARRUN_H

#include "runtime/device/cuda/test/StoredWeight.h"

namespace sluice::cuda {

/// Makes operand rows and multiplies them, as the host would launch it. Fails
/// the test where the emulator finds an error, or where anything but the rows
/// in use was written.
struct LinearRun {
  LinearRun(const DeviceWeight &weight, int32_t rows)
      : weight(&weight), rows(rows) {}

  /// The rows of y, dense.
  std::vector<float> run(const std::vector<float> &x) const;

  const DeviceWeight *weight;
  int32_t rows;
  int32_t kernelRows = 8; ///< of a block: which kernel
  int32_t stages = 2;     ///< of the kernel of linearTileRows
  int32_t capacity = 64;
  emulator::Order order = emulator::Order::Ascending;
  uint64_t seed = 1; ///< of Order::Shuffled
  /// > 0: products by the library (DenseLinear.h) in kernels' place, with room
  /// for so many bytes of unpacked columns. Rows up to the capacity are
  /// written.
  uint64_t denseBytes = 0;
  Gate gate = Gate::None;
  std::vector<float> bias;     ///< [out]; gated: [2][out]
  std::vector<float> residual; ///< [rows][columns]
  int32_t firstTile = 0;
  int32_t tiles = 0;               ///< 0: all
  uint64_t *copiedBytes = nullptr; ///< if set: what the product copies
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_LINEARRUN_H
