//===- LinearRun.h - runs one linear layer in the emulator ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_LINEARRUN_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_LINEARRUN_H

#include "runtime/device/cuda/test/StoredWeight.h"

namespace sluice::cuda {

/// Makes operand rows and multiplies them, with the launches that the host
/// would make. Fails the test if the emulator finds an error, or if anything
/// but the rows in use was written.
struct LinearRun {
  LinearRun(const DeviceWeight &weight, int32_t rows)
      : weight(&weight), rows(rows) {}

  /// Returns the rows of y, dense.
  std::vector<float> run(const std::vector<float> &x) const;

  const DeviceWeight *weight;
  int32_t rows;
  int32_t kernelRows = 8; ///< rows of a block, which select the kernel
  int32_t stages = 2;     ///< for the kernel of linearTileRows
  int32_t capacity = 64;
  emulator::Order order = emulator::Order::Ascending;
  uint64_t seed = 1; ///< for Order::Shuffled
  /// If above 0, cuBLASLt's products (DenseLinear.h) replace the kernels, with
  /// room for that many bytes of unpacked columns. Rows up to the capacity are
  /// written.
  uint64_t denseBytes = 0;
  Gate gate = Gate::None;
  std::vector<float> bias;     ///< [out]; gated: [2][out]
  std::vector<float> residual; ///< [rows][columns]
  int32_t firstTile = 0;
  int32_t tiles = 0;  ///< 0 for all tiles
  int32_t splits = 0; ///< 0 for linearSplits()
  /// What the launch does at its end. run() sets the ticket, and gives norms
  /// without rows those of the product.
  RowTail tail = {};
  /// If set, the first norm's operand takes the place of the product's, and is
  /// copied there.
  std::vector<uint8_t> *overOperand = nullptr;
  /// If set, receives how many bytes the product copies.
  uint64_t *copiedBytes = nullptr;
};

/// Runs the products of several weights of one kind with the same rows in one
/// launch, and returns the rows of each. The first of `runs` says how.
std::vector<std::vector<float>> runJoined(std::span<const LinearRun> runs,
                                          const std::vector<float> &x);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_LINEARRUN_H
