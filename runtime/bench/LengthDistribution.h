//===- LengthDistribution.h - distributions of numbers of tokens ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_LENGTHDISTRIBUTION_H
#define SLUICE_RUNTIME_BENCH_LENGTHDISTRIBUTION_H

#include "runtime/base/Status.h"
#include "runtime/bench/RandomStream.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::bench {

/// The largest length of a prompt or output, in tokens.
inline constexpr int64_t maxLength = int64_t{1} << 20;

/// A distribution of lengths, in tokens:
///
///   N                  always N
///   uniform:LOW:HIGH   each whole number from LOW to HIGH with equal chance
///   normal:MEAN:SD     rounded to the nearest whole number
///   lognormal:MEAN:SD  likewise; MEAN and SD are those of the lengths, not of
///                      their logarithms
///   choice:A,B,C       each with equal chance; a repeated value counts again
///
/// Values are clamped to 1 .. maxLength.
class LengthDistribution {
public:
  /// Always returns `length`.
  explicit LengthDistribution(int64_t length)
      : text(std::to_string(length)), values{length} {}

  /// Parses one of the forms above. Fails, with one line, if it is none of
  /// them, a number is malformed or out of range, or LOW is above HIGH.
  static Expected<LengthDistribution> parse(std::string_view text);

  int64_t draw(RandomStream &random) const;

  /// Returns the text that was parsed.
  const std::string &spelling() const { return text; }

private:
  enum class Kind : uint8_t { Choice, Uniform, Normal, LogNormal };

  LengthDistribution() = default;
  Status parseParts(std::string_view name, std::string_view rest);
  Status parseNumbers(std::string_view rest);

  Kind kind = Kind::Choice;
  std::string text;
  std::vector<int64_t> values; ///< Choice: the values; Uniform: LOW and HIGH
  double mean = 0, deviation = 0;
};

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_LENGTHDISTRIBUTION_H
