//===- DotProduct.h - dot products ----------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_INTERPRETER_DOTPRODUCT_H
#define SLUICE_LIB_INTERPRETER_DOTPRODUCT_H

#include <span>

namespace sluice::interpreter {

/// Returns the sum of a[i] * b[i], computed in double. The order of the sum
/// depends only on the length. The interpreter spends nearly all of its time
/// here.
double dotProduct(std::span<const float> a, std::span<const float> b);

} // namespace sluice::interpreter

#endif // SLUICE_LIB_INTERPRETER_DOTPRODUCT_H
