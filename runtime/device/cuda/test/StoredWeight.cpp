//===- StoredWeight.cpp - random weights of every kind for tests ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/StoredWeight.h"
#include "runtime/formats/Blocks.h"

using namespace sluice;
using namespace sluice::cuda;

static constexpr struct {
  const char *name;
  Format format;
} kinds[weightKindCount] = {
    {"f32", Format::F32},   {"f16", Format::F16},   {"bf16", Format::BF16},
    {"e4m3", Format::E4M3}, {"q8_0", Format::Q8_0}, {"q4_0", Format::Q4_0},
    {"q4_k", Format::Q4_K}, {"q6_k", Format::Q6_K},
};

const char *cuda::kindName(WeightKind kind) { return kinds[int(kind)].name; }

/// Writes a scale of about 2^-6 to `at`.
static void putScale(std::mt19937 &random, uint8_t *at) {
  std::uniform_real_distribution<float> scale(0.01f, 0.03f);
  uint16_t half = floatToHalf(random() % 2 ? scale(random) : -scale(random));
  std::memcpy(at, &half, 2);
}

static void randomBlocks(std::mt19937 &random, StoredWeight &weight) {
  auto block = size_t(formatInfo(kinds[int(weight.kind)].format).blockBytes);
  for (uint8_t &byte : weight.bytes)
    byte = uint8_t(random());
  for (size_t at = 0; at < weight.bytes.size(); at += block) {
    uint8_t *start = weight.bytes.data() + at;
    putScale(random, weight.kind == WeightKind::Q6_K
                         ? start + offsetof(BlockQ6K, d)
                         : start);
    if (weight.kind == WeightKind::Q4_K)
      putScale(random, start + 2);
  }
}

StoredWeight cuda::randomWeight(std::mt19937 &random, WeightKind kind,
                                int64_t outFeatures, int64_t inFeatures) {
  StoredWeight weight = {kind, outFeatures, inFeatures, {}, {}};
  WeightSpec spec = {kind, outFeatures, inFeatures, false};
  uint64_t rowBytes = storedRowBytes(spec).value();
  weight.bytes.resize(uint64_t(outFeatures) * rowBytes);
  weight.values.resize(size_t(outFeatures * inFeatures));
  Format format = kinds[int(kind)].format;
  const bool hasQuants = isQuantized(format) && kind != WeightKind::E4M3;
  if (hasQuants)
    randomBlocks(random, weight);
  for (int64_t out = 0; out < outFeatures; ++out) {
    uint8_t *row = weight.bytes.data() + uint64_t(out) * rowBytes;
    float *values = weight.values.data() + out * inFeatures;
    if (hasQuants) {
      dequantizeRow(format, row, values, inFeatures);
      continue;
    }
    auto numbers = randomFloats(random, size_t(inFeatures));
    quantizeRow(format, numbers.data(), row, inFeatures);
    dequantizeRow(format, row, values, inFeatures);
  }
  return weight;
}

DeviceWeight cuda::deviceWeight(const StoredWeight &weight,
                                const StoredWeight *partner) {
  DeviceWeight result;
  result.spec = {weight.kind, weight.outFeatures, weight.inFeatures,
                 partner != nullptr};
  result.tiles = DeviceArray<uint8_t>(layoutBytes(result.spec).value());
  layoutTiles(result.spec, weight.bytes.data(),
              partner ? partner->bytes.data() : nullptr, result.tiles.data(), 0,
              columnTiles(result.spec));
  return result;
}
