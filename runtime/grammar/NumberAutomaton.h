//===- NumberAutomaton.h - numbers within bounds --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers within bounds, as texts. Internal to runtime/grammar.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_NUMBERAUTOMATON_H
#define SLUICE_RUNTIME_GRAMMAR_NUMBERAUTOMATON_H

#include "runtime/base/Status.h"
#include "runtime/grammar/TextAutomaton.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::grammar {

/// Digits that a number may have before its point, and behind it: a bound keeps
/// a model from writing one for ever.
inline constexpr uint32_t maxWholeDigits = 20;
inline constexpr uint32_t maxFractionDigits = 20;

/// A decimal number, exactly.
struct Decimal {
  bool negative = false;
  std::string whole = "0"; ///< digits, no zeros in front but "0" itself
  std::string fraction;    ///< digits, no zeros at the end

  bool isZero() const { return whole == "0" && fraction.empty(); }
  bool operator==(const Decimal &) const = default;

  /// `text` is a JSON number. Errors: more than 40 digits before or behind the
  /// point, once it is written without an exponent.
  static Expected<Decimal> parse(std::string_view text);
};

/// Which numbers.
struct NumberRange {
  struct Bound {
    Decimal value;
    bool exclusive = false;
  };
  bool integer = false;
  std::vector<Bound> min; ///< all of them hold
  std::vector<Bound> max;
  std::vector<Decimal> multiplesOf; ///< greater than zero

  bool bounded() const {
    return !min.empty() || !max.empty() || !multiplesOf.empty();
  }
};

/// How the numbers of a range are written: without an exponent, integers
/// without a point, zero without a sign.
struct NumberAutomata {
  TextAutomaton positive; ///< and zero
  TextAutomaton negative; ///< without the minus

  bool contains(const Decimal &number) const;
};

/// Errors: a multiple of more than four digits, or automata that are too large.
Expected<NumberAutomata> numberAutomata(const NumberRange &range,
                                        WorkMeter &meter);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_NUMBERAUTOMATON_H
