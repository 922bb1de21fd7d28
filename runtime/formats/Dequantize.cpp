//===- Dequantize.cpp - dequantizes stored rows ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts stored rows to floats. Every product and sum is a single float
// operation, in ggml's order for ggml's formats, so the values are the same bit
// for bit.
//
//===----------------------------------------------------------------------===//

#include "runtime/formats/BlockFormat.h"
#include "runtime/formats/Blocks.h"
#include "runtime/formats/Float8.h"

#include <cassert>
#include <cstring>

using namespace sluice;

static void dequantize(const BlockQ80 &block, float *dst) {
  float d = halfToFloat(block.d);
  for (int i = 0; i < 32; ++i)
    dst[i] = float(block.qs[i]) * d;
}

static void dequantize(const BlockQ40 &block, float *dst) {
  float d = halfToFloat(block.d);
  for (int i = 0; i < 16; ++i) {
    dst[i] = float((block.qs[i] & 15) - 8) * d;
    dst[i + 16] = float((block.qs[i] >> 4) - 8) * d;
  }
}

static void dequantize(const BlockQ41 &block, float *dst) {
  float d = halfToFloat(block.d), m = halfToFloat(block.m);
  for (int i = 0; i < 16; ++i) {
    dst[i] = float(block.qs[i] & 15) * d + m;
    dst[i + 16] = float(block.qs[i] >> 4) * d + m;
  }
}

/// Returns element i (0..31) of a q5_0 or q5_1 block as a number from 0 to 31.
template <typename Block> static int q5Element(const Block &block, int i) {
  int low = i < 16 ? block.qs[i] & 15 : block.qs[i - 16] >> 4;
  return low | ((block.qh[i / 8] >> (i % 8) & 1) << 4);
}

static void dequantize(const BlockQ50 &block, float *dst) {
  float d = halfToFloat(block.d);
  for (int i = 0; i < 32; ++i)
    dst[i] = float(q5Element(block, i) - 16) * d;
}

static void dequantize(const BlockQ51 &block, float *dst) {
  float d = halfToFloat(block.d), m = halfToFloat(block.m);
  for (int i = 0; i < 32; ++i)
    dst[i] = float(q5Element(block, i)) * d + m;
}

static void dequantize(const BlockQ4K &block, float *dst) {
  float d = halfToFloat(block.d), dmin = halfToFloat(block.dmin);
  for (int sub = 0; sub < 8; ++sub) {
    SubScale s = kSubScale(block.scales, sub);
    float scale = d * float(s.scale), min = dmin * float(s.min);
    const uint8_t *qs = block.qs + sub / 2 * 32;
    for (int i = 0; i < 32; ++i)
      dst[sub * 32 + i] = scale * float(qs[i] >> (sub % 2 * 4) & 15) - min;
  }
}

static void dequantize(const BlockQ5K &block, float *dst) {
  float d = halfToFloat(block.d), dmin = halfToFloat(block.dmin);
  for (int sub = 0; sub < 8; ++sub) {
    SubScale s = kSubScale(block.scales, sub);
    float scale = d * float(s.scale), min = dmin * float(s.min);
    const uint8_t *qs = block.qs + sub / 2 * 32;
    for (int i = 0; i < 32; ++i) {
      int q = (qs[i] >> (sub % 2 * 4) & 15) | ((block.qh[i] >> sub & 1) << 4);
      dst[sub * 32 + i] = scale * float(q) - min;
    }
  }
}

static void dequantize(const BlockQ6K &block, float *dst) {
  float d = halfToFloat(block.d);
  for (int sub = 0; sub < 16; ++sub) {
    float scale = d * float(block.scales[sub]);
    for (int i = 16 * sub; i < 16 * sub + 16; ++i)
      dst[i] = scale * float(int(q6KElement(block, i)) - 32);
  }
}

static void dequantize(const BlockE4M3 &block, float *dst) {
  for (int i = 0; i < 128; ++i)
    dst[i] = e4m3ToFloat(block.qs[i]) * block.d;
}

template <typename Block, int blockElements>
static void dequantizeBlocks(const uint8_t *src, float *dst, int64_t elements) {
  for (int64_t i = 0; i < elements; i += blockElements) {
    Block block;
    std::memcpy(&block, src, sizeof(block));
    dequantize(block, dst + i);
    src += sizeof(block);
  }
}

template <float convert(uint16_t)>
static void widenRow(const uint8_t *src, float *dst, int64_t elements) {
  for (int64_t i = 0; i < elements; ++i) {
    uint16_t bits;
    std::memcpy(&bits, src + i * 2, sizeof(bits));
    dst[i] = convert(bits);
  }
}

void sluice::dequantizeRow(Format format, const void *source, float *dst,
                           int64_t elements) {
  assert(elements % formatInfo(format).blockElements == 0);
  const auto *src = static_cast<const uint8_t *>(source);
  switch (format) {
  case Format::F32:
    if (elements > 0)
      std::memcpy(dst, src, size_t(elements) * sizeof(float));
    return;
  case Format::F16:
    return widenRow<halfToFloat>(src, dst, elements);
  case Format::BF16:
    return widenRow<bfloatToFloat>(src, dst, elements);
  case Format::Q8_0:
    return dequantizeBlocks<BlockQ80, 32>(src, dst, elements);
  case Format::Q4_0:
    return dequantizeBlocks<BlockQ40, 32>(src, dst, elements);
  case Format::Q4_1:
    return dequantizeBlocks<BlockQ41, 32>(src, dst, elements);
  case Format::Q5_0:
    return dequantizeBlocks<BlockQ50, 32>(src, dst, elements);
  case Format::Q5_1:
    return dequantizeBlocks<BlockQ51, 32>(src, dst, elements);
  case Format::Q4_K:
    return dequantizeBlocks<BlockQ4K, 256>(src, dst, elements);
  case Format::Q5_K:
    return dequantizeBlocks<BlockQ5K, 256>(src, dst, elements);
  case Format::Q6_K:
    return dequantizeBlocks<BlockQ6K, 256>(src, dst, elements);
  case Format::E4M3:
    return dequantizeBlocks<BlockE4M3, 128>(src, dst, elements);
  }
}
