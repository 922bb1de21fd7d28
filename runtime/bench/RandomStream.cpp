//===- RandomStream.cpp - portable random numbers -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/RandomStream.h"

#include "runtime/core/Random.h"

#include <algorithm>
#include <cmath>

using namespace sluice;
using namespace sluice::bench;

static constexpr double ln2 = 0.69314718055994530942;

double bench::portableLog(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent); // exact
  if (mantissa < 0.70710678118654752440) {
    mantissa *= 2;
    --exponent;
  }
  // log m = 2 atanh z, |z| < 0.172: the 12th term is below 1e-19.
  double z = (mantissa - 1) / (mantissa + 1);
  double square = z * z;
  double sum = 0;
  for (int term = 23; term >= 1; term -= 2)
    sum = sum * square + 1.0 / term;
  return exponent * ln2 + 2 * z * sum;
}

double bench::portableExp(double x) {
  double halvings = std::floor(x / ln2 + 0.5);
  double rest =
      x - halvings * ln2; // at most 0.35: the 14th term is below 1e-17
  double sum = 1;
  for (int term = 14; term >= 1; --term)
    sum = 1 + sum * rest / term;
  return std::ldexp(sum, static_cast<int>(halvings)); // exact
}

uint32_t RandomStream::next32() {
  if (used == 4) {
    words = philox(
        {block++, static_cast<uint32_t>(purpose), static_cast<uint32_t>(index),
         static_cast<uint32_t>(index >> 32)},
        {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    used = 0;
  }
  return words[static_cast<size_t>(used++)];
}

uint64_t RandomStream::next64() {
  uint64_t high = next32();
  return high << 32 | next32();
}

double RandomStream::unit() {
  return static_cast<double>(next64() >> 11) * 0x1p-53;
}

int64_t RandomStream::whole(int64_t low, int64_t high) {
  auto count = static_cast<double>(high - low) + 1;
  // Rounding can make the product equal to `count`.
  return std::min(high, low + static_cast<int64_t>(unit() * count));
}

double RandomStream::normal() {
  while (true) {
    double x = 2 * unit() - 1;
    double y = 2 * unit() - 1;
    double square = x * x + y * y;
    if (square < 1 && square > 0)
      return x * std::sqrt(-2 * portableLog(square) / square);
  }
}

double RandomStream::exponential() { return -portableLog(1 - unit()); }

double RandomStream::gamma(double shape) {
  if (shape < 1) {
    double larger = gamma(shape + 1);
    return larger *
           portableExp(std::max(-700.0, portableLog(1 - unit()) / shape));
  }
  double d = shape - 1.0 / 3;
  double c = 1 / std::sqrt(9 * d);
  while (true) {
    double x = normal();
    double root = 1 + c * x;
    if (root <= 0)
      continue;
    double v = root * root * root;
    if (portableLog(1 - unit()) < 0.5 * x * x + d - d * v + d * portableLog(v))
      return d * v;
  }
}
