//===- RandomRow.h - weights without a file -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_FORMATS_RANDOMROW_H
#define SLUICE_RUNTIME_FORMATS_RANDOMROW_H

#include "runtime/formats/BlockFormat.h"

namespace sluice {

/// How the numbers of a row are spread: about `mean`, which is 0 in quantised
/// formats whatever is asked for, with this standard deviation.
struct RandomSpread {
  float mean = 0;
  float deviation = 1;
};

/// Writes `elements` numbers (a whole number of blocks) that `key` decides:
/// the same ones on every machine, other ones for another key. All are finite
/// where mean and deviation are of a magnitude that the format has.
void writeRandomRow(Format format, uint64_t key, const RandomSpread &spread,
                    void *to, int64_t elements);

/// A key of its own for each `number`; of keys that one number decides already.
uint64_t randomKey(uint64_t key, uint64_t number);

} // namespace sluice

#endif // SLUICE_RUNTIME_FORMATS_RANDOMROW_H
