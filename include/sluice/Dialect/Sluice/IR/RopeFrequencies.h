//===- RopeFrequencies.h - the frequencies of a rope op -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_ROPEFREQUENCIES_H
#define SLUICE_DIALECT_SLUICE_IR_ROPEFREQUENCIES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace sluice::ir {

class RopeOp;

/// The numbers that the interpreter and every lowering of `sluice.rope` compute
/// with.
struct RopeFrequencies {
  /// The frequency of each rotated pair, in radians per position:
  /// inverse[rotary_dim / 2].
  llvm::SmallVector<float> inverse;
  /// Multiplies the cosines and sines.
  float attentionFactor = 1.0f;
};

/// Returns the frequencies for the op's base and scaling. `factors` holds the
/// values of the op's operand `factors`, one for each pair; it is empty if the
/// op has no such operand.
RopeFrequencies computeRopeFrequencies(RopeOp op,
                                       llvm::ArrayRef<float> factors);

} // namespace sluice::ir

#endif // SLUICE_DIALECT_SLUICE_IR_ROPEFREQUENCIES_H
