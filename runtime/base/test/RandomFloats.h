//===- RandomFloats.h - numbers for tests and benchmarks ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_TEST_RANDOMFLOATS_H
#define SLUICE_RUNTIME_BASE_TEST_RANDOMFLOATS_H

#include <cstddef>
#include <random>
#include <vector>

namespace sluice {

/// Returns `count` numbers of a normal distribution around zero.
inline std::vector<float> randomFloats(std::mt19937 &random, size_t count,
                                       float deviation = 1) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float &value : values)
    value = deviation * normal(random);
  return values;
}

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_TEST_RANDOMFLOATS_H
