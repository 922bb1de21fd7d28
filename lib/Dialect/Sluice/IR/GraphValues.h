//===- GraphValues.h - values that kernels are given --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_DIALECT_SLUICE_IR_GRAPHVALUES_H
#define SLUICE_LIB_DIALECT_SLUICE_IR_GRAPHVALUES_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

namespace sluice::ir {

/// A value of the arena that a kernel is given, by the floats of its record
/// among those of its domain.
struct GivenValue {
  ValueDomain domain;
  int64_t begin, end;

  bool overlaps(const GivenValue &other) const {
    return domain == other.domain && begin < other.end && other.begin < end;
  }
};

/// The value that a launch gives for a parameter of its kernel, as wide as the
/// kernel's views of it; nothing for an address that is no value's.
std::optional<GivenValue> getGivenValue(mlir::Value operand,
                                        mlir::Value parameter);

} // namespace sluice::ir

#endif // SLUICE_LIB_DIALECT_SLUICE_IR_GRAPHVALUES_H
