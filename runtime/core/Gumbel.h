//===- Gumbel.h - the noise for drawing tokens ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The noise that the Sampler on a host and the kernels on a device draw tokens
// with. Both get the same bits, because this code is compiled for both and
// consists of IEEE operations only, none of them contracted; a library's
// logarithm has different last bits on each.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_GUMBEL_H
#define SLUICE_RUNTIME_CORE_GUMBEL_H

#include <bit>
#include <cstdint>

namespace sluice {

/// Returns log(x) of a positive, normal number with an error of less than one
/// unit in the last place. The method is fdlibm's: x = 2^k * (1 + f) with 1 + f
/// between the square roots of 1/2 and 2, and log(1 + f) = f - f^2/2 + s *
/// (f^2/2 + R(s)) with s = f / (2 + f).
constexpr double naturalLog(double x) {
  constexpr uint64_t rootOfHalf = 0x3fe6a09e667f3bcd;
  constexpr double ln2High = 6.93147180369123816490e-01; // the last bits are 0
  constexpr double ln2Low = 1.90821492927058770002e-10;
  const auto bits = std::bit_cast<uint64_t>(x);
  const int64_t k = static_cast<int64_t>(bits - rootOfHalf) >> 52;
  const double f =
      std::bit_cast<double>(bits - (static_cast<uint64_t>(k) << 52)) - 1;
  const double s = f / (2 + f), z = s * s, w = z * z;
  const double even =
      w * (3.999999999940941908e-01 +
           w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double odd =
      z * (6.666666666666735130e-01 +
           w * (2.857142874366239149e-01 +
                w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double halfSquare = 0.5 * f * f, exponent = static_cast<double>(k);
  return s * (halfSquare + (even + odd)) + exponent * ln2Low - halfSquare + f +
         exponent * ln2High;
}

/// Returns -log(-log(u)) with u = (word + 1/2) / 2^32, which is never 0 or 1.
constexpr double gumbel(uint32_t word) {
  const double u = (static_cast<double>(word) + 0.5) * 0x1p-32;
  return -naturalLog(-naturalLog(u));
}

/// Returns an upper bound of gumbel(word) without a logarithm: since -log(u) >=
/// 1-u, gumbel(word) is at most -log(1-u), which the exponent of 1-u bounds.
constexpr double gumbelBound(uint32_t word) {
  constexpr double ln2 = 0.693147180559945309417;
  const double rest = (static_cast<double>(~word) + 0.5) * 0x1p-32;
  const auto exponent =
      static_cast<int64_t>(std::bit_cast<uint64_t>(rest) >> 52) - 1023;
  return ln2 * static_cast<double>(-exponent);
}

/// Returns the scaled logit that noise is added to; it is at most 0. The
/// difference is formed first, because the quotient of two finite numbers may
/// overflow, and infinity minus infinity is NaN.
constexpr double scaledLogit(double logit, double largest, double temperature) {
  return (logit - largest) / temperature;
}

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_GUMBEL_H
