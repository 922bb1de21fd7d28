//===- RandomRow.h - random weights without a file ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_FORMATS_RANDOMROW_H
#define SLUICE_RUNTIME_FORMATS_RANDOMROW_H

#include "runtime/formats/BlockFormat.h"
#include "runtime/formats/RandomNumbers.h"

namespace sluice {

/// The distribution of a row's numbers: the mean, which is always 0 in
/// quantised formats, and the standard deviation.
struct RandomSpread {
  float mean = 0;
  float deviation = 1;
  bool operator==(const RandomSpread &) const = default;
};

/// The rows of a matrix, each of which has its own key.
struct RandomRows {
  uint64_t key = 0;
  RandomSpread spread;

  uint64_t keyOf(int64_t row) const {
    return randomKey(key, static_cast<uint64_t>(row));
  }
  bool operator==(const RandomRows &) const = default;
};

/// The scales in a format, the same in all of its blocks, that give a spread's
/// deviation.
struct RandomUnits {
  /// For plain formats, the unit of randomElement(). For q8_0, q4_0, q4_1,
  /// q5_0, q5_1 and e4m3, the usual scale of randomScale().
  float unit = 0;
  /// For q4_k, q5_k and q6_k, the d of every block, as f16.
  uint16_t d = 0;
  uint16_t dmin = 0; ///< for q4_k and q5_k
};

RandomUnits randomUnits(Format format, const RandomSpread &spread);

/// Writes `elements` numbers (a whole number of blocks) that depend on `key`
/// alone: the same on every machine, and different for each key. All are finite
/// if the format can represent the magnitude of mean and deviation.
void writeRandomRow(Format format, uint64_t key, const RandomSpread &spread,
                    void *to, int64_t elements);

} // namespace sluice

#endif // SLUICE_RUNTIME_FORMATS_RANDOMROW_H
