//===- TextAutomaton.h - sets of texts that can be combined ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Deterministic automata over characters. Patterns, formats and ranges of
// numbers become such automata, since these can be combined. Internal to
// runtime/grammar.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_TEXTAUTOMATON_H
#define SLUICE_RUNTIME_GRAMMAR_TEXTAUTOMATON_H

#include "runtime/base/Status.h"
#include "runtime/base/WorkMeter.h"
#include "runtime/grammar/Expression.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::grammar {

/// A set of texts. An accepting state can be reached from every state; the
/// empty set has no states. Immutable. Copies share the states, and are as
/// thread-safe as the meter with which the automaton was made. The meter must
/// outlive it.
class TextAutomaton {
public:
  struct Edge {
    uint32_t low; ///< the ends are code points
    uint32_t high;
    uint32_t target;
  };
  struct State {
    std::vector<Edge> edges; ///< sorted and disjoint
    bool accepting = false;
  };

  /// Makes the empty set.
  TextAutomaton() = default;
  /// Makes an automaton that starts in state 0. States from which no accepting
  /// state can be reached are dropped. Charges the meter, which may end the
  /// work.
  TextAutomaton(std::vector<State> states, WorkMeter &meter);

  /// Returns the set of all texts.
  static TextAutomaton all();

  /// Returns the set of `texts`, which are valid UTF-8. Errors: those of
  /// fromExpression().
  static Expected<TextAutomaton> of(const std::vector<std::string> &texts,
                                    WorkMeter &meter);

  /// Returns the texts of an expression without references. Errors, also of the
  /// functions below: the automaton has more states or edges than allowed, or
  /// the meter ends the work.
  static Expected<TextAutomaton> fromExpression(const ExpressionTree &tree,
                                                ExpressionId root,
                                                WorkMeter &meter);

  /// Returns the texts that are in both sets.
  static Expected<TextAutomaton> intersection(const TextAutomaton &a,
                                              const TextAutomaton &b,
                                              WorkMeter &meter);
  /// Returns the texts of `a` that are not in `b`.
  static Expected<TextAutomaton>
  difference(const TextAutomaton &a, const TextAutomaton &b, WorkMeter &meter);
  /// Returns whether `text`, which is valid UTF-8, is in the set.
  bool contains(std::string_view text) const;

  bool empty() const { return !shared; }
  const std::vector<State> &states() const;

private:
  struct Shared {
    std::vector<State> states;
    HeldBytes held;
  };
  explicit TextAutomaton(std::shared_ptr<const Shared> shared)
      : shared(std::move(shared)) {}

  std::shared_ptr<const Shared> shared; ///< null without states
};

/// The texts of a set that have `min` to `max` characters. The length is kept
/// apart from the automaton, which would otherwise need a state for each
/// length.
struct SizedTexts {
  static constexpr uint32_t unbounded = std::numeric_limits<uint32_t>::max();

  TextAutomaton texts;
  uint32_t min = 0;
  uint32_t max = unbounded;

  bool bounded() const { return min > 0 || max != unbounded; }
  /// Returns whether `text`, which is valid UTF-8, is one of them.
  bool contains(std::string_view text) const;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_TEXTAUTOMATON_H
