//===- DotProduct.cpp - sums of products ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DotProduct.h"

// Eight lanes become the vector instructions of each of these CPUs and are
// added in order: the result is the same on all of them.
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3",
                             "default"))) double
sluice::interpreter::dotProduct(std::span<const float> a,
                                std::span<const float> b) {
  constexpr size_t lanes = 8;
  double sums[lanes] = {};
  size_t i = 0;
  for (; i + lanes <= a.size(); i += lanes)
    for (size_t lane = 0; lane < lanes; ++lane)
      sums[lane] += static_cast<double>(a[i + lane]) * b[i + lane];
  double total = 0;
  for (double sum : sums)
    total += sum;
  for (; i < a.size(); ++i)
    total += static_cast<double>(a[i]) * b[i];
  return total;
}
