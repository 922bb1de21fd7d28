//===- Comparison.h - two arrays that should be alike ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_COMPARISON_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_COMPARISON_H

#include "runtime/device/cuda/test/bed/DeviceArray.h"

#include <span>
#include <string>

namespace sluice::cuda {

/// How an array differs from what was expected.
struct Comparison {
  bool equalBits = true; ///< NaNs are equal, as Elements has it
  /// The largest difference of two elements, as a share of the expected array's
  /// largest magnitude that is finite (as it is where that is 0); infinite
  /// where one of the two is no finite number.
  double difference = 0;
  /// Empty where no element differs by more than is allowed; else a line that
  /// says which is the first that does, and by how much they differ at most.
  std::string complaint;
};

/// Whose bytes an array has, and where they come from, as a complaint says it.
struct ArraySide {
  std::span<const uint8_t> bytes;
  const char *where; ///< "in the emulator"
};

/// Arrays of the same size. `allowed`: of arrays of Elements::Float, the
/// difference; others must have the same bits, and so must these with 0.
Comparison compareArrays(Elements elements, const ArraySide &expected,
                         const ArraySide &found, double allowed);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_COMPARISON_H
