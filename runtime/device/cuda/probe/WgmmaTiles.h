//===- WgmmaTiles.h - factors that tell how a product is added up ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_PROBE_WGMMATILES_H
#define SLUICE_RUNTIME_DEVICE_CUDA_PROBE_WGMMATILES_H

#include "runtime/device/cuda/probe/ProbeABI.h"

#include <array>
#include <cstddef>
#include <vector>

namespace sluice::cuda::probe {

/// Factors of tiles, as WgmmaArguments has them, in this order:
///   integers   of -8 to 8 without 0: sums are exact in every order
///   mixed      of all magnitudes over several powers of two
///   cancelling the same, but each product is followed by one that takes most
///              of it off, in the same step or in the next one
///   moved      mixed and cancelling ones with other orders of the rows of A
///              and of the columns of B
///   replaced   mixed and cancelling ones of which other numbers stand in the
///              rows and columns that keeps() does not name
class WgmmaTiles {
public:
  /// `each` tiles of the first three kinds, always the same for the same
  /// arguments.
  WgmmaTiles(bool isBfloat, int32_t steps, int32_t each);

  int32_t count() const { return 7 * each; }
  int32_t features() const { return 16 * steps; }
  const std::vector<uint16_t> &a() const { return aBits; }
  const std::vector<uint16_t> &b() const { return bBits; }

  /// Tiles of integers, and of all kinds that are neither moved nor replaced.
  int32_t integers() const { return each; }
  int32_t originals() const { return 3 * each; }

  /// The moved and the replaced tile of an original, which is none of integers.
  int32_t movedOf(int32_t original) const { return original + 2 * each; }
  int32_t replacedOf(int32_t original) const { return original + 4 * each; }

  /// Where a row or column stands in moved tiles.
  int32_t movedRow(int32_t row) const { return rowPlaces[size_t(row)]; }
  int32_t movedColumn(int32_t column) const {
    return columnPlaces[size_t(column)];
  }
  /// Whether replaced tiles have a result's factors.
  static bool keeps(int32_t row, int32_t column) {
    return row % 3 == 0 && column % 2 == 0;
  }

  /// A factor's value.
  float aValue(int32_t tile, int32_t row, int32_t feature) const;
  float bValue(int32_t tile, int32_t column, int32_t feature) const;

private:
  class Maker;

  bool isBfloat;
  int32_t steps, each;
  std::array<int32_t, wgmmaRows> rowPlaces;
  std::array<int32_t, wgmmaColumns> columnPlaces;
  std::vector<uint16_t> aBits, bBits;
};

} // namespace sluice::cuda::probe

#endif // SLUICE_RUNTIME_DEVICE_CUDA_PROBE_WGMMATILES_H
