//===- RopeFrequencies.h - what a rope op multiplies positions by ---------===//
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

/// What the interpreter and every lowering of `sluice.rope` compute with.
struct RopeFrequencies {
  /// One for each pair: inverse[rotary_dim / 2]. Radians per position.
  llvm::SmallVector<float> inverse;
  /// Multiplies the cosines and sines.
  float attentionFactor = 1.0f;
};

/// Frequencies with the op's base and scaling. `factors` are the values of the
/// op's operand `factors`, one for each pair, or empty where it has none.
RopeFrequencies computeRopeFrequencies(RopeOp op,
                                       llvm::ArrayRef<float> factors);

} // namespace sluice::ir

#endif // SLUICE_DIALECT_SLUICE_IR_ROPEFREQUENCIES_H
