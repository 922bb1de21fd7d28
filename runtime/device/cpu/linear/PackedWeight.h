//===- PackedWeight.h - weights of linear layers, packed for the kernels --===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A weight of `outFeatures` x `inFeatures` is packed into panels of 16 output
// columns. Inside a panel the input features follow one another, the 16
// columns' elements of one feature (of four, where they are bytes) side by
// side, so that a kernel streams a panel from its first to its last byte and
// each of the 16 lanes sums one column in the order of its features.
//
//   kind      from        bytes/weight  a lane's sum, per block of 32
//   f32       f32         4             fma per feature
//   f16, bf16 f16, bf16   2             fma per feature
//   e4m3      e4m3        1.03125       fma per feature, of the number * d
//   q8        q8_0        1.0625        dot * (d * xscale)
//   q5        q5_0        0.6875        dot * (d * xscale)
//   q4        q4_0        0.5625        dot * (d * xscale)
//   q5Affine  q5_1        0.75          dot * (d * xscale) + m * xsum
//   q4Affine  q4_1        0.625         dot * (d * xscale) + m * xsum
//   q5K       q5_k        0.6875        dot * (d*sc * xscale) - dmin*m * xsum
//   q4K       q4_k        0.5625        dot * (d*sc * xscale) - dmin*m * xsum
//   q6K       q6_k        0.828         as q5K without minima, per half block
//
// Scales keep the precision that they have in the file (halves, and 6- or 8-bit
// sub-scales beside them). Columns beyond outFeatures in the last panel are
// zeros and are never written to the result. A packed weight is plain bytes
// without pointers: it can be written to a file and mapped again.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_LINEAR_PACKEDWEIGHT_H
#define SLUICE_RUNTIME_DEVICE_CPU_LINEAR_PACKEDWEIGHT_H

#include "runtime/formats/BlockFormat.h"

#include <cstdint>
#include <optional>

namespace sluice::cpu {

/// Output columns of a panel.
constexpr int64_t panelColumns = 16;

/// The alignment of packed bytes, in memory and in files.
constexpr int64_t packedAlignment = 64;

enum class PackedKind : uint8_t {
  F32,
  F16,
  BF16,
  E4M3,
  Q8,
  Q5,
  Q4,
  Q5Affine,
  Q4Affine,
  Q5K,
  Q4K,
  Q6K
};

constexpr int packedKindCount = 12;

/// Returns the packed kind of a weight that computes in `format`.
PackedKind packedKind(Format format);

/// Returns whether the kind takes activations as QuantizedBlock rows, and not
/// as f32.
constexpr bool takesQuantizedRows(PackedKind kind) {
  return kind >= PackedKind::Q8;
}

/// A linear layer's weight as a model's file stores it.
struct LinearSpec {
  int64_t outFeatures = 0;
  int64_t inFeatures = 0;
  /// The format in the file, and the one that the layer computes in. They
  /// differ when a weight is quantised while it is loaded: `format` is then
  /// one that canQuantize allows.
  Format stored = Format::F32;
  Format format = Format::F32;
  /// Stored as [inFeatures][outFeatures]: f32, f16 and bf16 only. Otherwise
  /// [outFeatures][inFeatures].
  bool transposed = false;
};

/// Returns the bytes of the stored weight, or nothing if the spec cannot be
/// packed: sizes that are not positive, are not whole blocks or overflow; a
/// transposed block format; a conversion that canQuantize does not allow.
std::optional<uint64_t> storedBytes(const LinearSpec &spec);

/// Returns the bytes of the packed weight, a multiple of packedAlignment, or
/// nothing in the cases of storedBytes.
std::optional<uint64_t> packedBytes(const LinearSpec &spec);

/// Returns the panels of a weight with that many output features.
constexpr int64_t panelCount(int64_t outFeatures) {
  return (outFeatures + panelColumns - 1) / panelColumns;
}

/// Packs panels firstPanel .. lastPanel - 1 of the weight at `src` (any
/// alignment, storedBytes(spec) bytes). Writes them to `dst` (any alignment),
/// one after the other, as they lie in the packed weight. Calls may run
/// concurrently. packedBytes must accept the spec.
void packPanels(const LinearSpec &spec, const void *src, void *dst,
                int64_t firstPanel, int64_t lastPanel);

/// A view of a packed weight, which does not own its bytes.
struct PackedWeight {
  PackedKind kind = PackedKind::F32;
  int64_t outFeatures = 0;
  int64_t inFeatures = 0;
  uint64_t panelBytes = 0;
  /// Aligned to packedAlignment; panelCount(outFeatures) * panelBytes bytes.
  const uint8_t *data = nullptr;
};

/// Returns the view of the bytes that packPanels wrote at `data`.
PackedWeight packedWeight(const LinearSpec &spec, const void *data);

/// Returns the view of output columns colBegin .. colEnd - 1 alone. Both are
/// multiples of panelColumns, except at the end of the weight. A column's
/// result is the same in both views.
PackedWeight columnsOf(const PackedWeight &weight, int64_t colBegin,
                       int64_t colEnd);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_LINEAR_PACKEDWEIGHT_H
