//===- PackedWeight.cpp - sizes of packed weights -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/linear/PackedWeight.h"
#include "runtime/device/cpu/linear/ActivationRows.h"
#include "runtime/device/cpu/linear/PackedLayout.h"

#include <cassert>

using namespace sluice;
using namespace sluice::cpu;

PackedKind cpu::packedKind(Format format) {
  switch (format) {
  case Format::F32:
    return PackedKind::F32;
  case Format::F16:
    return PackedKind::F16;
  case Format::BF16:
    return PackedKind::BF16;
  case Format::Q8_0:
    return PackedKind::Q8;
  case Format::Q5_0:
    return PackedKind::Q5;
  case Format::Q4_0:
    return PackedKind::Q4;
  case Format::Q5_1:
    return PackedKind::Q5Affine;
  case Format::Q4_1:
    return PackedKind::Q4Affine;
  case Format::Q5_K:
    return PackedKind::Q5K;
  case Format::Q4_K:
    return PackedKind::Q4K;
  case Format::Q6_K:
    return PackedKind::Q6K;
  case Format::E4M3:
    return PackedKind::E4M3;
  }
  return PackedKind::F32;
}

static std::optional<uint64_t> multiply(std::optional<uint64_t> a, uint64_t b) {
  uint64_t product;
  if (!a || __builtin_mul_overflow(*a, b, &product))
    return std::nullopt;
  return product;
}

std::optional<uint64_t> cpu::storedBytes(const LinearSpec &spec) {
  if (spec.outFeatures <= 0 || spec.inFeatures <= 0)
    return std::nullopt;
  if (spec.stored != spec.format && !canQuantize(spec.format))
    return std::nullopt;
  if (!rowBytes(spec.format, spec.inFeatures))
    return std::nullopt;
  if (spec.transposed) {
    if (isQuantized(spec.stored))
      return std::nullopt;
    return multiply(rowBytes(spec.stored, spec.outFeatures),
                    uint64_t(spec.inFeatures));
  }
  return multiply(rowBytes(spec.stored, spec.inFeatures),
                  uint64_t(spec.outFeatures));
}

/// Returns the bytes of one panel of a weight whose sizes storedBytes has
/// accepted.
static std::optional<uint64_t> panelBytes(PackedKind kind, int64_t inFeatures) {
  PackedLayout layout = packedLayout(kind);
  if (layout.groupBlocks == 0)
    return multiply(uint64_t(inFeatures),
                    uint64_t(panelColumns * layout.bits / 8));
  uint64_t blocks = uint64_t(inFeatures) / activationBlock;
  uint64_t group = uint64_t(layout.groupBlocks);
  return multiply(blocks / group + (blocks % group != 0),
                  uint64_t(layout.groupBytes));
}

/// Panels of 16-bit elements have 32 bytes a feature, so they are padded to
/// begin on cache lines.
static std::optional<uint64_t> alignUp(std::optional<uint64_t> bytes) {
  uint64_t padded;
  if (!bytes ||
      __builtin_add_overflow(*bytes, uint64_t(packedAlignment - 1), &padded))
    return std::nullopt;
  return padded / packedAlignment * packedAlignment;
}

std::optional<uint64_t> cpu::packedBytes(const LinearSpec &spec) {
  if (!storedBytes(spec) || spec.outFeatures > INT64_MAX - panelColumns)
    return std::nullopt;
  return multiply(alignUp(panelBytes(packedKind(spec.format), spec.inFeatures)),
                  uint64_t(panelCount(spec.outFeatures)));
}

PackedWeight cpu::packedWeight(const LinearSpec &spec, const void *data) {
  assert(packedBytes(spec) && "a spec that cannot be packed");
  PackedKind kind = packedKind(spec.format);
  return {kind, spec.outFeatures, spec.inFeatures,
          alignUp(panelBytes(kind, spec.inFeatures)).value_or(0),
          static_cast<const uint8_t *>(data)};
}

PackedWeight cpu::columnsOf(const PackedWeight &weight, int64_t colBegin,
                            int64_t colEnd) {
  assert(0 <= colBegin && colBegin <= colEnd && colEnd <= weight.outFeatures);
  auto isBound [[maybe_unused]] = [&](int64_t column) {
    return column % panelColumns == 0 || column == weight.outFeatures;
  };
  assert(isBound(colBegin) && isBound(colEnd));
  PackedWeight view = weight;
  view.outFeatures = colEnd - colBegin;
  view.data += uint64_t(colBegin / panelColumns) * weight.panelBytes;
  return view;
}
