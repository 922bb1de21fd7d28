//===- RandomRow.h - weights without a file -------------------------------===//
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

/// How the numbers of a row are spread: about `mean`, which is 0 in quantised
/// formats whatever is asked for, with this standard deviation.
struct RandomSpread {
  float mean = 0;
  float deviation = 1;
  bool operator==(const RandomSpread &) const = default;
};

/// The rows of a matrix: each has a key of its own.
struct RandomRows {
  uint64_t key = 0;
  RandomSpread spread;

  uint64_t keyOf(int64_t row) const {
    return randomKey(key, static_cast<uint64_t>(row));
  }
  bool operator==(const RandomRows &) const = default;
};

/// What a spread's deviation comes to in a format, in all of its blocks.
struct RandomUnits {
  /// Of plain formats randomElement()'s; of q8_0, q4_0, q4_1, q5_0, q5_1 and
  /// e4m3 the usual scale, for randomScale().
  float unit = 0;
  /// Of q4_k, q5_k and q6_k, every block's: f16.
  uint16_t d = 0;
  uint16_t dmin = 0; ///< q4_k, q5_k
};

/// Pure.
RandomUnits randomUnits(Format format, const RandomSpread &spread);

/// Writes `elements` numbers (a whole number of blocks) that `key` decides:
/// the same ones on every machine, other ones for another key. All are finite
/// where mean and deviation are of a magnitude that the format has.
void writeRandomRow(Format format, uint64_t key, const RandomSpread &spread,
                    void *to, int64_t elements);

} // namespace sluice

#endif // SLUICE_RUNTIME_FORMATS_RANDOMROW_H
