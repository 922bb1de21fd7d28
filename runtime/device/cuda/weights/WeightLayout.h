//===- WeightLayout.h - weights in the layout of the CUDA kernels ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the tiles of kernels/KernelABI.h on the host, from rows as files store
// them. No number changes: quants, sub-scales and halves are moved unchanged.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_WEIGHTS_WEIGHTLAYOUT_H
#define SLUICE_RUNTIME_DEVICE_CUDA_WEIGHTS_WEIGHTLAYOUT_H

#include "runtime/device/cuda/kernels/KernelABI.h"
#include "runtime/formats/BlockFormat.h"

#include <cstdint>
#include <optional>

namespace sluice::cuda {

/// Returns the kind of a weight that is stored in `format`, or nothing for
/// formats without kernels (q4_1, q5_0, q5_1, q5_k).
std::optional<WeightKind> weightKind(Format format);

/// The shape of a weight: `outFeatures` rows of `inFeatures` numbers. A gated
/// weight is two such weights, the gate and its partner, whose columns
/// alternate in groups of eight.
struct WeightSpec {
  WeightKind kind = WeightKind::F32;
  int64_t outFeatures = 0;
  int64_t inFeatures = 0;
  bool gated = false;
};

/// Returns the number of column tiles of the weight.
constexpr int64_t columnTiles(const WeightSpec &spec) {
  int64_t columns = spec.gated ? tileColumns / 2 : tileColumns;
  return (spec.outFeatures + columns - 1) / columns;
}

/// Returns the bytes of a stored row, or nothing if the spec has no layout:
/// sizes that are not positive or above 2^30, or features that are not whole
/// blocks.
std::optional<uint64_t> storedRowBytes(const WeightSpec &spec);

/// Returns the bytes of all tiles, or nothing in the same cases and on
/// overflow.
std::optional<uint64_t> layoutBytes(const WeightSpec &spec);

/// Writes the column tiles tileBegin .. tileEnd - 1 to their places in the
/// weight whose tile 0 is at `dst`. The stored rows begin at `src` (outFeatures
/// * storedRowBytes, with any alignment); those of a gated weight are the
/// gate's, and `partner` has the partner's, else it is null. Calls for disjoint
/// ranges may run concurrently. layoutBytes() must accept the spec. The rows
/// must be finite, since kernels would read an e4m3 NaN as 480.
void layoutTiles(const WeightSpec &spec, const void *src, const void *partner,
                 uint8_t *dst, int64_t tileBegin, int64_t tileEnd);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_WEIGHTS_WEIGHTLAYOUT_H
