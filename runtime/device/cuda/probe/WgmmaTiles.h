//===- WgmmaTiles.h - factors that show how a product is summed -----------===//
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

/// The factors of tiles, laid out as in WgmmaArguments, in this order:
///
///   integers   from -8 to 8 without 0: sums are exact in every order
///   mixed      magnitudes over several powers of two
///   cancelling likewise, but each product is followed by one that cancels most
///              of it, in the same step or in the next one
///   moved      mixed and cancelling tiles with the rows of A and the columns
///              of B in other orders
///   replaced   mixed and cancelling tiles with other numbers in the rows and
///              columns that keeps() does not name
class WgmmaTiles {
public:
  /// Makes `each` tiles of each of the first three kinds. The same arguments
  /// always give the same tiles.
  WgmmaTiles(bool isBfloat, int32_t steps, int32_t each);

  int32_t count() const { return 7 * each; }
  int32_t features() const { return 16 * steps; }
  const std::vector<uint16_t> &a() const { return aBits; }
  const std::vector<uint16_t> &b() const { return bBits; }

  /// integers() is the number of integer tiles; originals() is that of all
  /// tiles that are neither moved nor replaced.
  int32_t integers() const { return each; }
  int32_t originals() const { return 3 * each; }

  /// Returns the moved, or the replaced, tile of an original, which must not be
  /// an integer tile.
  int32_t movedOf(int32_t original) const { return original + 2 * each; }
  int32_t replacedOf(int32_t original) const { return original + 4 * each; }

  /// Returns the place of a row or column in moved tiles.
  int32_t movedRow(int32_t row) const { return rowPlaces[size_t(row)]; }
  int32_t movedColumn(int32_t column) const {
    return columnPlaces[size_t(column)];
  }
  /// Returns whether replaced tiles keep the factors of a result.
  static bool keeps(int32_t row, int32_t column) {
    return row % 3 == 0 && column % 2 == 0;
  }

  /// Returns the value of a factor.
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
