//===- WeightLayout.h - weights as CUDA kernels read them -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes, on the host, the tiles of kernels/KernelABI.h from rows as files have
// them. No number changes: quants, sub-scales and halves are moved as they are.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_WEIGHTS_WEIGHTLAYOUT_H
#define SLUICE_RUNTIME_DEVICE_CUDA_WEIGHTS_WEIGHTLAYOUT_H

#include "runtime/device/cuda/kernels/KernelABI.h"
#include "runtime/formats/BlockFormat.h"

#include <cstdint>
#include <optional>

namespace sluice::cuda {

/// The kind of a weight that is stored in `format`; nothing for formats that
/// have no kernels (q4_1, q5_0, q5_1, q5_k).
std::optional<WeightKind> weightKind(Format format);

/// A weight of `outFeatures` rows of `inFeatures` numbers. Gated: two such
/// weights, of the gate and its partner, whose columns alternate in eights.
struct WeightSpec {
  WeightKind kind = WeightKind::F32;
  int64_t outFeatures = 0;
  int64_t inFeatures = 0;
  bool gated = false;
};

/// Column tiles of the weight.
constexpr int64_t columnTiles(const WeightSpec &spec) {
  int64_t columns = spec.gated ? tileColumns / 2 : tileColumns;
  return (spec.outFeatures + columns - 1) / columns;
}

/// Bytes of a stored row. Nothing when the spec cannot be laid out: sizes that
/// are not positive or above 2^30, or features that are no whole blocks.
std::optional<uint64_t> storedRowBytes(const WeightSpec &spec);

/// Bytes of all tiles; nothing in the same cases, and where they overflow.
std::optional<uint64_t> layoutBytes(const WeightSpec &spec);

/// Writes column tiles tileBegin .. tileEnd - 1 of the weight whose rows begin
/// at `src` (any alignment, outFeatures * storedRowBytes; gated: the gate's)
/// into their places behind `dst`, where tile 0 is. `partner`: gated, the other
/// rows; else null. Calls for disjoint ranges may run at once. The spec is one
/// that layoutBytes accepts. Its rows are finite; kernels would take a NaN of
/// e4m3 for 480.
void layoutTiles(const WeightSpec &spec, const void *src, const void *partner,
                 uint8_t *dst, int64_t tileBegin, int64_t tileEnd);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_WEIGHTS_WEIGHTLAYOUT_H
