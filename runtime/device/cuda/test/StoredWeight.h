//===- StoredWeight.h - random weights of every kind for tests ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_STOREDWEIGHT_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_STOREDWEIGHT_H

#include "runtime/device/cuda/test/TestUtils.h"
#include "runtime/device/cuda/weights/WeightLayout.h"

namespace sluice::cuda {

const char *kindName(WeightKind kind);

/// A weight as a file stores it, with its values.
struct StoredWeight {
  WeightKind kind = WeightKind::F32;
  int64_t outFeatures = 0, inFeatures = 0;
  std::vector<uint8_t> bytes; ///< rows one after another
  std::vector<float> values;  ///< [out][in], by runtime/formats
};

/// Returns a weight with random bits in every field and finite scales of a
/// realistic size.
StoredWeight randomWeight(std::mt19937 &random, WeightKind kind,
                          int64_t outFeatures, int64_t inFeatures);

/// A weight in device memory, with its partner if it is gated.
struct DeviceWeight {
  WeightSpec spec;
  DeviceArray<uint8_t> tiles;
};
DeviceWeight deviceWeight(const StoredWeight &weight,
                          const StoredWeight *partner = nullptr);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_STOREDWEIGHT_H
