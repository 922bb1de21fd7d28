//===- NumberAutomaton.h - automata for ranges of numbers -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts a range of numbers to an automaton of their texts. Internal to
// runtime/grammar.
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

/// The digits that a number may have before and after its point. The limit
/// keeps a model from writing one number for ever.
inline constexpr uint32_t maxWholeDigits = 20;
inline constexpr uint32_t maxFractionDigits = 20;

/// An exact decimal number.
struct Decimal {
  bool negative = false;
  std::string whole = "0"; ///< digits, without leading zeros except in "0"
  std::string fraction;    ///< digits, without trailing zeros

  bool isZero() const { return whole == "0" && fraction.empty(); }
  bool operator==(const Decimal &) const = default;

  /// Parses `text`, which is a JSON number. Errors: written without an
  /// exponent, it has more than 40 digits before or after the point.
  static Expected<Decimal> parse(std::string_view text);
};

/// A set of numbers: those that satisfy all of these conditions.
struct NumberRange {
  struct Bound {
    Decimal value;
    bool exclusive = false;
  };
  bool integer = false;
  std::vector<Bound> min; ///< all of them hold
  std::vector<Bound> max;
  std::vector<Decimal> multiplesOf; ///< each greater than zero

  bool bounded() const {
    return !min.empty() || !max.empty() || !multiplesOf.empty();
  }
};

/// The texts of the numbers of a range: without an exponent, integers without a
/// point, zero without a sign.
struct NumberAutomata {
  TextAutomaton positive; ///< includes zero
  TextAutomaton negative; ///< without the minus

  bool contains(const Decimal &number) const;
};

/// Errors: a `multiplesOf` of more than four digits, or automata that are too
/// large.
Expected<NumberAutomata> numberAutomata(const NumberRange &range,
                                        WorkMeter &meter);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_NUMBERAUTOMATON_H
