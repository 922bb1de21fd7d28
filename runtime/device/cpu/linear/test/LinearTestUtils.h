//===- LinearTestUtils.h - random weights and rows for the tests ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_LINEAR_TEST_LINEARTESTUTILS_H
#define SLUICE_RUNTIME_DEVICE_CPU_LINEAR_TEST_LINEARTESTUTILS_H

#include "runtime/device/cpu/linear/Linear.h"
#include "runtime/device/cpu/linear/test/LinearReference.h"
#include "runtime/formats/Blocks.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

namespace sluice::cpu {

/// The instruction sets that this processor can run.
inline std::vector<const LinearKernels *> runnableKernels() {
  std::vector<const LinearKernels *> kernels;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c"))
    kernels.push_back(linearKernels("avx2"));
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    kernels.push_back(linearKernels("avx512"));
    if (__builtin_cpu_supports("avx512vnni"))
      kernels.push_back(linearKernels("avx512vnni"));
  }
  return kernels;
}

/// Zeroed bytes aligned as packed weights are.
class PackedBytes {
public:
  explicit PackedBytes(size_t size)
      : bytes(static_cast<uint8_t *>(
            ::operator new(size, std::align_val_t(packedAlignment)))) {
    std::memset(bytes, 0, size);
  }
  ~PackedBytes() {
    ::operator delete(bytes, std::align_val_t(packedAlignment));
  }
  PackedBytes(const PackedBytes &) = delete;
  PackedBytes &operator=(const PackedBytes &) = delete;
  uint8_t *get() const { return bytes; }

private:
  uint8_t *bytes;
};

inline std::vector<float> randomFloats(std::mt19937 &random, size_t count,
                                       float deviation = 1) {
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(random);
  return values;
}

/// Stored bytes with random quants, all of their values, and scales of about
/// the size that weights have.
inline std::vector<uint8_t> randomStored(std::mt19937 &random,
                                         const LinearSpec &spec) {
  std::vector<uint8_t> bytes(storedBytes(spec).value_or(0));
  if (!isQuantized(spec.stored)) {
    auto count = size_t(spec.outFeatures * spec.inFeatures);
    std::vector<float> values = randomFloats(random, count, 0.1f);
    quantizeRow(spec.stored, values.data(), bytes.data(), int64_t(count));
    return bytes;
  }
  for (uint8_t &byte : bytes)
    byte = uint8_t(random());
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

/// A stored weight and its packed form.
struct TestWeight {
  TestWeight(std::mt19937 &random, const LinearSpec &spec)
      : spec(spec), stored(randomStored(random, spec)),
        bytes(packedBytes(spec).value_or(0)) {
    packPanels(spec, stored.data(), bytes.get(), 0,
               panelCount(spec.outFeatures));
  }

  PackedWeight packed() const { return packedWeight(spec, bytes.get()); }

  LinearSpec spec;
  std::vector<uint8_t> stored;
  PackedBytes bytes;
};

/// Rows of activations, as floats and as the weight's kind takes them.
struct TestRows {
  TestRows(std::mt19937 &random, PackedKind kind, int64_t rows, int64_t cols)
      : kind(kind), cols(cols),
        floats(randomFloats(random, size_t(rows * cols))) {
    if (takesQuantizedRows(kind)) {
      blocks.resize(size_t(rows * cols / activationBlock));
      quantizeReference(floats.data(), blocks.data(), int64_t(blocks.size()));
    }
  }

  /// The rows from `row` on.
  const void *from(int64_t row) const {
    if (takesQuantizedRows(kind))
      return blocks.data() + row * (cols / activationBlock);
    return floats.data() + row * cols;
  }

  PackedKind kind;
  int64_t cols;
  std::vector<float> floats;
  std::vector<QuantizedBlock> blocks;
};

/// `linear` by `threads` threads, one after another; what no thread writes
/// stays `untouched`.
constexpr float untouched = -12345;
inline std::vector<float> runLinear(const LinearKernels &kernels,
                                    const PackedWeight &weight, const void *x,
                                    const float *bias, int64_t rows,
                                    int64_t threads = 1) {
  std::vector<float> y(size_t(rows * weight.outFeatures), untouched);
  for (int64_t thread = 0; thread < threads; ++thread)
    linear(kernels, weight, x, bias, y.data(), rows, thread, threads);
  return y;
}

inline bool sameBits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() &&
         (a.empty() ||
          std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// For messages: "avx2 q4_0 33x64 rows 5".
inline std::string describe(const LinearKernels *kernels,
                            const LinearSpec &spec, int64_t rows) {
  return std::string(kernels->name) + " " +
         std::string(formatInfo(spec.stored).name) + ">" +
         std::string(formatInfo(spec.format).name) + " " +
         std::to_string(spec.outFeatures) + "x" +
         std::to_string(spec.inFeatures) +
         (spec.transposed ? " transposed" : "") + " rows " +
         std::to_string(rows);
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_LINEAR_TEST_LINEARTESTUTILS_H
