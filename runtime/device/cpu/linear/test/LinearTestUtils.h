//===- LinearTestUtils.h - random weights and rows for the tests ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_LINEAR_TEST_LINEARTESTUTILS_H
#define SLUICE_RUNTIME_DEVICE_CPU_LINEAR_TEST_LINEARTESTUTILS_H

#include "runtime/device/cpu/CpuFeatures.h"
#include "runtime/device/cpu/linear/Linear.h"
#include "runtime/device/cpu/linear/test/LinearReference.h"
#include "runtime/device/cpu/linear/test/RandomMatrices.h"

#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sluice::cpu {

extern const LinearKernels linearAvx512Emulated, linearAvx512VnniEmulated;

/// A test that runs kernels.
class KernelTest : public testing::Test {
protected:
  void SetUp() override {
    if (Status s = requireIsa("avx2"); !s.ok())
      GTEST_SKIP() << s.message();
  }
};

/// Returns the kernels called `name`, or `emulated`, which are compiled for
/// AVX2, if the processor cannot run them.
inline const LinearKernels *runnable(const char *name,
                                     const LinearKernels &emulated) {
  if (requireIsa(name).ok())
    return linearKernels(name);
  static std::map<std::string, LinearKernels> named;
  auto at = named.emplace(std::string(name) + " (emulated)", emulated).first;
  at->second.name = at->first.c_str();
  return &at->second;
}

/// Returns the kernels of every instruction set; those of AVX-512 may be
/// emulated.
inline std::vector<const LinearKernels *> runnableKernels() {
  return {linearKernels("avx2"), runnable("avx512", linearAvx512Emulated),
          runnable("avx512vnni", linearAvx512VnniEmulated)};
}

/// Zeroed bytes with the alignment of packed weights.
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

/// A stored weight and its packed form.
struct TestWeight {
  TestWeight(std::mt19937 &random, const LinearSpec &spec,
             std::optional<uint8_t> quants = {})
      : spec(spec), stored(randomStored(random, spec, quants)),
        bytes(packedBytes(spec).value_or(0)) {
    packPanels(spec, stored.data(), bytes.get(), 0,
               panelCount(spec.outFeatures));
  }

  PackedWeight packed() const { return packedWeight(spec, bytes.get()); }

  LinearSpec spec;
  std::vector<uint8_t> stored;
  PackedBytes bytes;
};

/// Rows of activations, as floats and in the form that the weight's kind takes.
struct TestRows {
  TestRows(std::mt19937 &random, PackedKind kind, int64_t rows, int64_t cols)
      : TestRows(kind, cols, randomFloats(random, size_t(rows * cols))) {}

  TestRows(PackedKind kind, int64_t cols, std::vector<float> values)
      : kind(kind), cols(cols), floats(std::move(values)) {
    if (takesQuantizedRows(kind)) {
      blocks.resize(floats.size() / size_t(activationBlock));
      quantizeReference(floats.data(), blocks.data(), int64_t(blocks.size()));
    }
  }

  /// Returns the rows from `row` on.
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

/// Runs `linear` with `threads` threads, one after another. Results that no
/// thread writes stay `untouched`.
constexpr float untouched = -12345;
inline std::vector<float> runLinear(const LinearKernels &kernels,
                                    const PackedWeight &weight, const void *x,
                                    const float *bias, int64_t rows,
                                    int64_t threads = 1) {
  std::vector<float> y(size_t(rows * weight.outFeatures), untouched);
  Tickets tickets;
  for (int64_t thread = 0; thread < threads; ++thread) {
    std::vector<uint8_t> scratch(size_t(linearScratchBytes(kernels, weight)),
                                 0xff);
    linear(kernels, weight, x, bias, y.data(), rows,
           {thread, threads, scratch.data(), tickets, 0});
  }
  return y;
}

inline bool sameBits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() &&
         (a.empty() ||
          std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// Returns a text for messages, such as "avx2 q4_0 33x64 rows 5".
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
