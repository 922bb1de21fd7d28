//===- DotProduct.cpp - dot products --------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DotProduct.h"

// The compiler turns the eight lanes into vector instructions of each of these
// CPUs. The lanes are added in order, so the result is the same on all CPUs.
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
