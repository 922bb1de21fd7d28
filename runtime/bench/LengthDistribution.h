//===- LengthDistribution.h - how many tokens a prompt or an output has ---===//
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

/// No prompt or output is longer, in tokens.
inline constexpr int64_t maxLength = int64_t{1} << 20;

/// What lengths, in tokens, are drawn from:
///   N                  always N
///   uniform:LOW:HIGH   each whole number from LOW to HIGH alike
///   normal:MEAN:SD     rounded to the nearest whole number
///   lognormal:MEAN:SD  the same; MEAN and SD are those of the lengths, not of
///                      their logarithms
///   choice:A,B,C       each of these alike; one that is given twice counts
///   twice
/// What is drawn below 1 or above maxLength becomes that.
class LengthDistribution {
public:
  /// Always `length`.
  explicit LengthDistribution(int64_t length)
      : text(std::to_string(length)), values{length} {}

  /// Errors, each one line: none of the forms above, a number that is none, out
  /// of range, LOW above HIGH.
  static Expected<LengthDistribution> parse(std::string_view text);

  int64_t draw(RandomStream &random) const;

  /// As it was written.
  const std::string &spelling() const { return text; }

private:
  enum class Kind : uint8_t { Choice, Uniform, Normal, LogNormal };

  LengthDistribution() = default;
  Status parseParts(std::string_view name, std::string_view rest);
  Status parseNumbers(std::string_view rest);

  Kind kind = Kind::Choice;
  std::string text;
  std::vector<int64_t> values; ///< of Choice; LOW and HIGH of Uniform
  double mean = 0, deviation = 0;
};

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_LENGTHDISTRIBUTION_H
