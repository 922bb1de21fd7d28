//===- Comparison.h - compares two arrays ---------------------------------===//
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

/// How an array differs from the expected one.
struct Comparison {
  bool equalBits = true; ///< NaNs count as equal, as Elements defines it
  /// The largest difference of two elements, relative to the largest finite
  /// magnitude of the expected array (absolute if that is 0). Infinite if one
  /// of the two elements is not a finite number.
  double difference = 0;
  /// Empty if no element differs by more than is allowed. Otherwise a line that
  /// names the first element that does, and the largest difference.
  std::string complaint;
};

/// The bytes of an array, and their origin for the complaint.
struct ArraySide {
  std::span<const uint8_t> bytes;
  const char *where; ///< "in the emulator"
};

/// Compares arrays of the same size. `allowed` is the difference that is
/// allowed in arrays of Elements::Float; other arrays must have the same bits,
/// and with 0 these must, too.
Comparison compareArrays(Elements elements, const ArraySide &expected,
                         const ArraySide &found, double allowed);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_COMPARISON_H
