//===- RandomMatrices.h - stored weights for tests and benchmarks ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_LINEAR_TEST_RANDOMMATRICES_H
#define SLUICE_RUNTIME_DEVICE_CPU_LINEAR_TEST_RANDOMMATRICES_H

#include "runtime/base/test/RandomFloats.h"
#include "runtime/device/cpu/linear/PackedWeight.h"
#include "runtime/formats/Blocks.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

namespace sluice::cpu {

/// Returns stored bytes with random quants of all values, or with `quants` as
/// each byte of quants, and with scales of a realistic size.
inline std::vector<uint8_t> randomStored(std::mt19937 &random,
                                         const LinearSpec &spec,
                                         std::optional<uint8_t> quants = {}) {
  std::vector<uint8_t> bytes(storedBytes(spec).value_or(0));
  if (!isQuantized(spec.stored)) {
    auto count = size_t(spec.outFeatures * spec.inFeatures);
    std::vector<float> values = randomFloats(random, count, 0.1f);
    quantizeRow(spec.stored, values.data(), bytes.data(), int64_t(count));
    return bytes;
  }
  for (uint8_t &byte : bytes)
    byte = quants.value_or(uint8_t(random()));
  std::uniform_real_distribution<float> scale(-0.02f, 0.02f);
  if (spec.stored == Format::E4M3) {
    // NaNs become zeros.
    for (uint8_t &byte : bytes)
      byte = (byte & 0x7f) == 0x7f ? byte & 0x80 : byte;
    for (size_t at = 0; at < bytes.size(); at += sizeof(BlockE4M3)) {
      float each = scale(random);
      std::memcpy(bytes.data() + at, &each, sizeof(each));
    }
    return bytes;
  }
  auto block = size_t(formatInfo(spec.stored).blockBytes);
  bool two = spec.stored == Format::Q4_1 || spec.stored == Format::Q5_1 ||
             spec.stored == Format::Q4_K || spec.stored == Format::Q5_K;
  size_t at = spec.stored == Format::Q6_K ? block - 2 : 0;
  for (size_t from = at; from < bytes.size(); from += block)
    for (size_t i = 0; i < (two ? 2 : 1); ++i) {
      uint16_t half = floatToHalf(scale(random));
      std::memcpy(bytes.data() + from + 2 * i, &half, sizeof(half));
    }
  return bytes;
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_LINEAR_TEST_RANDOMMATRICES_H
